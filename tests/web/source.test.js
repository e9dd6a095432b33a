// The code as it is written, and as it is in the page.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import vm from "node:vm";
import { MODULES } from "./browser.js";
import { ROOT, html } from "./traces.js";

const ts = createRequire(path.join(MODULES, "x.js"))("typescript");
const WEB = path.join(ROOT, "web");
const modules = readdirSync(WEB).filter((file) => file.endsWith(".js") && file !== "eslint.config.js");

// Names that a module declares at its top level.
function declared(file) {
	const tree = ts.createSourceFile(file, readFileSync(path.join(WEB, file), "utf8"), ts.ScriptTarget.ES2022, true);
	return tree.statements.flatMap((statement) => {
		if (ts.isVariableStatement(statement))
			return statement.declarationList.declarations.flatMap((one) =>
				ts.isIdentifier(one.name) ? [one.name.text] : one.name.elements.map((e) => e.name.text),
			);
		return statement.name ? [statement.name.text] : [];
	});
}

const parts = (page) => ({
	policy: /<meta http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1].replaceAll("&#39;", "'"),
	style: /<style>([\s\S]*?)<\/style>/.exec(page)?.[1],
	scripts: [...page.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((match) => match[1]),
});

test("names at the top level are unique over all modules", () => {
	const owner = new Map(),
		twice = [];
	for (const file of modules)
		for (const name of declared(file)) {
			if (owner.has(name)) twice.push(`${name} in ${owner.get(name)} and ${file}`);
			owner.set(name, file);
		}
	assert.deepEqual(twice, []);
	assert.ok(owner.size > 50);
});

test("the joined script parses and has no import or export left", () => {
	const { scripts } = parts(html("small"));
	assert.equal(scripts.length, 1);
	new vm.Script(scripts[0]);
	assert.doesNotMatch(scripts[0], /^\s*(import|export)\s/m);
	const unused = modules.filter((file) => !declared(file).every((name) => scripts[0].includes(name)));
	assert.deepEqual(unused, [], "every module is part of the page");
});

test("the policy has the hashes of the script and of the style, and allows nothing else", () => {
	const { policy, style, scripts } = parts(html("small"));
	const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
	const wanted = ["default-src 'none'", `script-src ${hash(scripts[0])}`, `style-src ${hash(style)}`, "img-src data:"];
	assert.deepEqual(policy.split("; "), [...wanted, "base-uri 'none'", "form-action 'none'"]);
});

test("code and style are the same in every page", () => {
	const { style, scripts } = parts(html("hostile"));
	assert.deepEqual(parts(html("small")).scripts, scripts);
	assert.equal(parts(html("small")).style, style);
});

test("the markup has no style, no handlers and nothing from elsewhere", () => {
	for (const name of ["small", "hostile", "million"]) {
		const markup = html(name).replace(/<script[\s\S]*?<\/script>|<style>[\s\S]*?<\/style>/g, "");
		const tags = markup.match(/<[a-z][^>]*>/gi);
		assert.ok(tags.length > 100);
		for (const tag of tags) {
			assert.doesNotMatch(tag, /\s(style|on\w+|src|srcset|srcdoc|action|formaction|background|ping)\s*=/i);
			assert.doesNotMatch(tag, /^<(base|link|iframe|object|embed|form|audio|video|img)\b/i);
			assert.match(/\shref="([^"]*)"/i.exec(tag)?.[1] ?? "#", /^#[a-z0-9-]*$/i, tag);
		}
	}
});
