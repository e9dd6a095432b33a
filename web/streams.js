/*
 * streams.js - the compressed streams of the page, as bytes.
 */

/** @param {string} text @returns {Uint8Array<ArrayBuffer>} */
export function fromBase64(text) {
	const native = /** @type {{fromBase64?: (text: string) => Uint8Array<ArrayBuffer>}} */ (/** @type {unknown} */ (Uint8Array));

	if (native.fromBase64)
		return native.fromBase64(text);
	const binary = atob(text);
	const bytes = new Uint8Array(binary.length);

	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

/**
 * @param {Uint8Array<ArrayBuffer>} deflated
 * @param {number} size what it holds
 * @returns {Promise<Uint8Array<ArrayBuffer>>}
 */
export async function inflateRaw(deflated, size) {
	const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
	const reader = stream.getReader();
	const bytes = new Uint8Array(size);
	let at = 0;

	for (;;) {
		const { done, value } = await reader.read();

		if (done)
			break;
		if (at + value.length > size)
			throw new Error('a stream is longer than it says');
		bytes.set(value, at);
		at += value.length;
	}
	if (at !== size)
		throw new Error('a stream is shorter than it says');
	return bytes;
}

/**
 * The stream of an element, which is taken out of the document: its text is no longer needed.
 * @param {string} id
 * @returns {Promise<Uint8Array<ArrayBuffer>>} empty when it is not there
 */
export async function readStream(id) {
	const element = document.getElementById(id);

	if (!element)
		return new Uint8Array(0);
	const deflated = fromBase64((element.textContent ?? '').trim());
	const size = Number(element.dataset.bytes ?? 0);

	element.remove();
	return inflateRaw(deflated, size);
}

/** @param {Uint8Array} bytes @returns {unknown} null when empty */
export function parseJson(bytes) {
	return bytes.length ? JSON.parse(new TextDecoder().decode(bytes)) : null;
}
