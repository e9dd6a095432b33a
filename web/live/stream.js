/*
 * stream.js - the connection to the server, with all its ways to be absent.
 *
 * A browser has six connections to a server for all its tabs, and a stream takes one for good. So one tab has the stream, and
 * passes on what it hears; a tab that cannot be seen has none. Where tabs cannot agree (that takes an address that the browser
 * trusts) each has its own.
 */

/**
 * @typedef {object} Listener
 * @property {(text: string) => void} whole
 * @property {(text: string) => void} change
 * @property {(text: string) => void} history
 * @property {(reason: string) => void} end
 * @property {(state: LinkState) => void} link
 */

/** @typedef {'connecting' | 'live' | 'reconnecting' | 'refused' | 'hidden' | 'ended'} LinkState */
/** @typedef {{kind: 'whole' | 'change' | 'history' | 'end' | 'link', text: string}} Message */

const LOCK = 'inferscope-stream';
const WAITS_MS = [500, 1000, 2000, 4000, 5000];
const REFUSED_MS = 10000;
const STAYS_MS = 1000;

/** @param {unknown} value @returns {value is Message} */
function isMessage(value) {
	return typeof value === 'object' && value !== null && 'kind' in value && 'text' in value && typeof value.text === 'string';
}

export class Stream {
	/** @param {Listener} listener */
	constructor(listener) {
		this.listener = listener;
		/** @type {EventSource | null} */
		this.source = null;
		this.tries = 0;
		this.timer = 0;
		this.leads = false;
		/** @type {(() => void) | null} gives the lock back */
		this.release = null;
		/** @type {AbortController | null} of waiting for the lock */
		this.waiting = null;
		/** @type {Message[] | null} what came while the first state is being asked for */
		this.early = null;
		this.shared = window.isSecureContext && 'locks' in navigator && typeof BroadcastChannel !== 'undefined';
		this.channel = this.shared ? new BroadcastChannel(LOCK) : null;
		this.channel?.addEventListener('message', (event) => this.heard(event.data));
		this.over = false;
		document.addEventListener('visibilitychange', () => this.seenOrNot());
		window.addEventListener('beforeunload', () => this.leave());
		if (!document.hidden)
			this.open();
	}

	/** What is over is looked for again only when the reader says so. */
	seenOrNot() {
		if (this.over)
			return;
		if (document.hidden)
			this.close('hidden');
		else
			this.open();
	}

	/** A stream that a reload interrupts is an error on Firefox's console. Whoever stays after all begins again. */
	leave() {
		if (this.over)
			return;
		this.close('hidden');
		this.timer = window.setTimeout(() => this.seenOrNot(), STAYS_MS);
	}

	/** Begins, or begins again. */
	open() {
		if (this.waiting || this.release || this.source)
			return;
		this.tries = 0;
		this.over = false;
		this.listener.link('connecting');
		if (!this.shared) {
			this.leads = true;
			this.connect();
			return;
		}
		this.waiting = new AbortController();
		navigator.locks.request(LOCK, { signal: this.waiting.signal }, () => this.lead()).catch(() => {});
		this.catchUp();
	}

	/** @returns {Promise<void>} that lasts for as long as this tab has the stream */
	lead() {
		this.waiting = null;
		this.leads = true;
		this.early = null;
		this.connect();
		return new Promise((resolve) => {
			this.release = resolve;
		});
	}

	/** @param {LinkState} state */
	close(state) {
		clearTimeout(this.timer);
		this.source?.close();
		this.source = null;
		this.waiting?.abort();
		this.waiting = null;
		this.release?.();
		this.release = null;
		this.leads = false;
		this.early = null;
		this.listener.link(state);
	}

	/** A tab that hears from another asks for what was before, unless it gets the stream at once. */
	async catchUp() {
		/** @type {Message[]} */
		const early = [];

		this.early = early;
		try {
			const held = (await navigator.locks.query()).held ?? [];

			if (!held.some((lock) => lock.name === LOCK) || this.leads)
				return;
			const [history, whole] = await Promise.all(['api/history', 'api'].map(async (path) => {
				const response = await fetch(path);

				return response.ok ? response.text() : '';
			}));

			if (this.early !== early || !whole)
				return;
			this.tell({ kind: 'history', text: history });
			this.tell({ kind: 'whole', text: whole });
			this.tell({ kind: 'link', text: 'live' });
			early.forEach((message) => this.tell(message));
		} catch {
			/* the tab that has the stream says what is the matter */
		} finally {
			if (this.early === early)
				this.early = null;
		}
	}

	/** @param {unknown} message of the tab that has the stream */
	heard(message) {
		if (this.leads || document.hidden || !isMessage(message))
			return;
		if (this.early)
			this.early.push(message);
		else
			this.tell(message);
	}

	/** @param {Message} message */
	tell(message) {
		if (message.kind === 'link')
			this.listener.link(/** @type {LinkState} */ (message.text));
		else
			this.listener[message.kind](message.text);
		if (message.kind === 'end') {
			this.over = true;
			this.close('ended');
		}
	}

	/** To this tab and to the others. @param {Message} message */
	pass(message) {
		this.channel?.postMessage(message);
		this.tell(message);
	}

	connect() {
		const source = new EventSource('events');

		this.source = source;
		for (const kind of /** @type {const} */ (['whole', 'change', 'history']))
			source.addEventListener(kind, (event) => this.pass({ kind, text: String(event.data) }));
		source.addEventListener('open', () => {
			this.tries = 0;
			this.pass({ kind: 'link', text: 'live' });
		});
		source.addEventListener('end', (event) => this.pass({ kind: 'end', text: String(event.data) }));
		source.addEventListener('error', () => {
			if (this.source !== source)
				return;
			this.pass({ kind: 'link', text: 'reconnecting' });
			if (source.readyState === EventSource.CLOSED)
				this.again();
		});
	}

	/** The browser has given up: it does when the answer was not what it should be. We do not. */
	async again() {
		this.source?.close();
		const refused = await fetch('api', { method: 'HEAD' }).then((response) => response.status === 401, () => false);

		if (!this.leads)
			return;
		if (refused)
			this.pass({ kind: 'link', text: 'refused' });
		clearTimeout(this.timer);
		this.timer = window.setTimeout(() => this.connect(), refused ? REFUSED_MS : WAITS_MS[Math.min(this.tries++, WAITS_MS.length - 1)]);
	}
}
