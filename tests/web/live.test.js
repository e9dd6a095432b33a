// The live page, at a server that publishes made-up snapshots.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PATIENCE, chromiumOnly, done, memory, pause, settle } from "./browser.js";
import { look, serve, stopAll } from "./live.js";

after(async () => {
	stopAll();
	await done();
});

const reached = (sequence) => window.inferscopeLive.facts().sequence >= sequence;

test("it shows the snapshot, keeps the token to itself, and goes on by itself in silence", async () => {
	const server = await serve();
	const shown = await look(server.url);
	await server.say("run 100");
	await shown.until(reached, 5);
	const known = await (await fetch(`http://${server.address}/api?token=${server.token}`)).json();
	const text = await shown.page.$eval("main", (main) => main.innerText);
	assert.equal(await shown.page.$eval("#program", (element) => element.textContent), known.command);
	for (const part of ["aten::conv2d", "NVIDIA A100", "pt_data_worker", "vda", "eth0", "train step"]) assert.ok(text.includes(part), part);
	assert.match(text, /The program's own figures\n(.*\n)*requests in queue\t12\nloss\t0\.25\n/);
	assert.match(text, /Live\.\n+Computing in operators 64 % of the last 10 s, most in aten::conv2d \(30 %\)\.\n+Steps begin with train step: found by/);
	assert.match(text, /Of the time of the main thread, last 10 s; each moment is in one line\./);
	assert.match(text, /Step time\n\d+\.\d\d ms\nmedian 120\.00 ms · p95 160\.00 ms/);
	assert.equal(await shown.status(), "Live.");
	assert.equal(await shown.page.evaluate(() => location.href), `http://${server.address}/`);
	assert.equal(await shown.page.evaluate(() => document.cookie), "", "scripts do not see the cookie");
	const cookies = await shown.context.cookies();
	assert.deepEqual(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite })), [
		{ name: `inferscope-${server.address.split(":")[1]}`, httpOnly: true, sameSite: "Strict" },
	]);
	await shown.page.reload();
	await shown.until(() => window.inferscopeLive?.facts().messages > 2);
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
	assert.equal(await server.stop(), 0);
});

test("names are text", async () => {
	const server = await serve({ words: ["hostile"] });
	const shown = await look(server.url);
	await server.say("alert");
	await shown.until(reached, 2);
	await settle(shown.page);
	const text = await shown.page.$eval("main", (main) => main.innerText);
	assert.ok(text.includes("</script><img src=x onerror=alert(1)>\"\\␊␛[31m\ufffd⟨U+202E⟩"), text.slice(0, 2000));
	assert.equal(await shown.page.$$eval("img", (all) => all.length), 0);
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
	await server.stop();
});

test("eight tabs share one stream; when the tab that has it is closed, another takes it", async () => {
	const server = await serve();
	await server.say("run 100");
	const tabs = [await look(server.url)];
	while (tabs.length < 8) tabs.push(await look(`http://${server.address}/`, { context: tabs[0].context }));
	const follow = async () => {
		const now = Math.max(...(await Promise.all(tabs.map((tab) => tab.facts()))).map((facts) => facts.sequence));
		for (const tab of tabs) await tab.until(reached, now + 3);
		return (await Promise.all(tabs.map((tab) => tab.facts()))).filter((facts) => facts.leads).length;
	};
	assert.equal(await follow(), 1);
	for (const tab of tabs) assert.equal(await tab.status(), "Live.");
	const leads = await Promise.all(tabs.map(async (tab) => (await tab.facts()).leads));
	const [first] = tabs.splice(leads.indexOf(true), 1);
	await first.page.close();
	assert.equal(await follow(), 1);
	for (const tab of tabs) assert.deepEqual(await tab.quiet(), []);
	await tabs[0].close();
	await server.stop();
});

test("a tab that cannot be seen has no stream, and knows all of it when it is seen again", async () => {
	const server = await serve();
	const shown = await look(server.url, { visible: false });
	await server.say("burst 10 2000");
	await shown.until(reached, 11);
	const other = await shown.context.newPage();
	await other.bringToFront();
	await shown.until(() => window.inferscopeLive.facts().link === "hidden");
	const sequence = await server.say("burst 50 2000");
	assert.equal((await shown.facts()).sequence, 11);
	await shown.page.bringToFront();
	await shown.until(reached, sequence);
	assert.ok((await shown.facts()).points >= 30, `${(await shown.facts()).points} points`);
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
	await server.stop();
});

test("a page that is about to be left has no stream, and has it again if it stays", async () => {
	const server = await serve();
	const shown = await look(server.url);
	await server.say("run 100");
	await shown.until(reached, 3);
	const { link, leads, sequence } = await shown.page.evaluate(() => {
		window.dispatchEvent(new Event("beforeunload"));
		return window.inferscopeLive.facts();
	});
	assert.deepEqual({ link, leads }, { link: "hidden", leads: false });
	await shown.until(reached, sequence + 10);
	assert.equal(await shown.status(), "Live.");
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
	await server.stop();
});

test("a server that is killed and comes back finds its page", async () => {
	const server = await serve({ token: "a-token-that-stays" });
	const shown = await look(server.url);
	await server.say("burst 20 1000");
	await shown.until(reached, 20);
	await server.kill();
	await shown.until(() => !document.getElementById("connection").classList.contains("good"));
	assert.match(await shown.status(), /^(Reconnecting|The monitor has ended)/);
	assert.match(await shown.page.$eval("#tiles", (tiles) => tiles.innerText), /Step time/, "the last snapshot stays");
	const next = await serve({ address: server.address, token: "a-token-that-stays" });
	await next.say("run 100");
	await shown.page.keyboard.press("r");
	await shown.until(() => document.getElementById("connection").textContent === "Live.");
	await shown.until(() => window.inferscopeLive.facts().sequence < 20 && window.inferscopeLive.facts().points < 10);
	await next.stop();
	await shown.until(() => /has ended/.test(document.getElementById("connection").textContent));
	const other = await serve({ address: server.address });
	await shown.page.keyboard.press("r");
	await shown.until(() => /open the address/.test(document.getElementById("connection").textContent));
	await shown.close();
	await other.stop();
});

// How long it stays live at the pace of a real run, ten snapshots a second; a minute shows more, and takes one.
const SECONDS = Number(process.env.INFERSCOPE_LIVE_SECONDS ?? 1);

test("an hour takes no more memory than a minute", chromiumOnly("memory cannot be asked for"), async (t) => {
	const server = await serve();
	const shown = await look(server.url);
	// A page that is busy gets all of the newest now and then instead of everything, so that more has to happen on a busy machine.
	const fill = async (points) => {
		for (const end = Date.now() + PATIENCE; Date.now() < end && (await shown.facts()).points < points; )
			await shown.until(reached, await server.say("burst 300 1000"));
		return shown.facts();
	};
	const minute = await fill(300);
	assert.ok(minute.points >= 300);
	assert.equal(minute.points, minute.messages, "a point for each snapshot that came");
	const before = await memory(shown.page);
	const hour = await fill(3600);
	assert.equal(hour.points, 3600);
	assert.ok(hour.draws < hour.messages);
	await server.say("run 100");
	await pause(SECONDS * 1000);
	const facts = await shown.facts();
	const grown = (await memory(shown.page)) - before;
	const came = facts.messages - hour.messages;
	t.diagnostic(`messages = ${facts.messages}, draws = ${facts.draws}, points = ${facts.points}, grown = ${(grown / 1e3).toFixed(0)} kB`);
	const heap = ((before + grown) / 1e6).toFixed(2);
	t.diagnostic(`seconds = ${SECONDS}, messages = ${came}, trouble = ${(await shown.quiet()).length}, heap = ${heap} MB`);
	assert.equal(await shown.status(), "Live.");
	assert.ok(came >= 5 * SECONDS && came <= 10 * SECONDS + 2, `${came} messages in ${SECONDS} s`);
	assert.equal(facts.points, 3600);
	assert.ok(grown < 1e6, `${grown} bytes more`);
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
	await server.stop();
});

test("pause, alerts, keys, an end, and silence", async () => {
	const server = await serve();
	const shown = await look(server.url);
	const alerts = () => shown.page.$$eval("#alert-list li", (all) => all.map((one) => one.innerText));
	await server.say("alert");
	await shown.until(() => document.querySelectorAll("#alert-list li.active").length === 1);
	assert.match((await alerts())[0], /warning[\s\S]*since 0:00[\s\S]*Memory is 83 % full[\s\S]*Look for what grows/);
	assert.match(await shown.page.title(), /^\(!\) /);
	await shown.page.keyboard.press("p");
	await shown.until(() => /^Paused/.test(document.getElementById("connection").textContent));
	const sequence = await server.say("alert");
	await shown.until(reached, sequence);
	await settle(shown.page);
	assert.match((await alerts())[0], /^warning/, "what is shown does not change");
	await shown.page.keyboard.press("p");
	await shown.until(() => document.querySelectorAll("#alert-list li.past").length === 1);
	assert.match((await alerts())[0], /^ended\n0:00 to 0:00\n/);
	await shown.page.keyboard.press("t");
	assert.equal(await shown.page.evaluate(() => document.documentElement.dataset.theme), "dark");
	await shown.page.keyboard.press("?");
	assert.equal(await shown.page.$$eval("dialog[open]", (all) => all.length), 1);
	await shown.page.keyboard.press("?");
	await shown.page.focus(".step-canvas");
	await shown.page.keyboard.press("ArrowRight");
	await shown.until(() => /train step · scope · \d+\.\d\d ms · 100 %/.test(document.querySelector("#step .reading").textContent));
	await shown.until(() => /^Stale since/.test(document.getElementById("connection").textContent));
	await server.say("end 3");
	await shown.until(() => /ended with status 3/.test(document.getElementById("connection").textContent));
	const begin = Date.now();
	await server.stop();
	assert.ok(Date.now() - begin < 2500, "the server waits for nobody for long");
	await shown.until(() => window.inferscopeLive.facts().link === "ended");
	assert.match(await shown.page.$eval("#tiles", (tiles) => tiles.innerText), /Step time/);
	assert.deepEqual(await shown.quiet(), []);
	await shown.close();
});

test("it fits, light and dark, wide and narrow", async () => {
	const server = await serve({ words: ["large"] });
	await server.say("run 200");
	for (const [width, theme] of [[1280, "light"], [768, "dark"], [400, "light"]]) {
		const shown = await look(server.url, { viewport: { width }, theme });
		await shown.until(() => document.querySelectorAll("#threads tbody tr").length === 20);
		assert.equal(await shown.page.evaluate(() => document.documentElement.scrollWidth), width);
		await shown.page.click("#threads button.link");
		await shown.until(() => document.querySelectorAll("#threads tbody tr").length === 256);
		const colors = await shown.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
		assert.equal(colors, theme === "light" ? "rgb(255, 255, 255)" : "rgb(15, 19, 24)");
		const pixels = await shown.page.$$eval(".spark", (all) => all.map((canvas) => {
			const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
			return new Set(new Uint32Array(data.buffer)).size;
		}));
		assert.ok(pixels.every((count) => count >= 2), `something is drawn in each plot: ${pixels}`);
		await pause(100);
		assert.deepEqual((await shown.quiet()).filter((one) => !one.includes("willReadFrequently")), []);
		await shown.close();
	}
	await server.stop();
});
