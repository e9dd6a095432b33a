// Where the readers are that npm installs: with what tests of the report page need.

import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

export const MODULES = process.env.INFERSCOPE_NODE_MODULES ?? path.join(ROOT, ".venv", "web", "node_modules");
export const load = createRequire(path.join(MODULES, "x.js"));
