// What is worth stopping for in the code of the page; unknown names and types are the type checker's.

const markup = "names of the trace must stay text: use textContent and createElement";
const network = "the page asks the network for nothing";
const code = "the page's policy forbids code made of text";

const properties = [
	...["innerHTML", "outerHTML", "insertAdjacentHTML", "createContextualFragment", "setHTMLUnsafe", "srcdoc"].map(
		(property) => ({ property, message: markup })),
	...["write", "writeln"].map((property) => ({ object: "document", property, message: markup })),
	...["sendBeacon"].map((property) => ({ property, message: network })),
	...["eval", "Function", "execScript"].map((property) => ({ object: "window", property, message: code })),
];

const globalsOf = (asked) => [
	...asked.map((name) => ({ name, message: network })),
	...["eval", "Function"].map((name) => ({ name, message: code })),
	...["event", "name", "status", "length", "top", "parent"].map(
		(name) => ({ name, message: "a variable was meant, not window's" })),
];

const globals = globalsOf(["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "importScripts", "Image", "Worker"]);
// The live page asks the server that it came from, in one place.
const liveGlobals = globalsOf(["XMLHttpRequest", "WebSocket", "importScripts", "Image", "Worker"]);

const syntax = [
	{ selector: "ForInStatement", message: "for-in goes over what others put into the prototype: use for-of" },
	{ selector: "ImportExpression", message: network },
	{ selector: "CallExpression[callee.property.name=/^setAttribute(NS)?$/] > Literal[value=/^(style|srcdoc|href|src|on.*)$/i]",
	  message: "the page's policy forbids it; el.style.x = ... works" },
	{ selector: "WithStatement, LabeledStatement", message: "a function says it better" },
	{ selector: "ExportDefaultDeclaration, ExportAllDeclaration, ImportNamespaceSpecifier, ImportDefaultSpecifier",
	  message: "modules are joined into one script, where only names are left" },
	{ selector: "ExportNamedDeclaration[declaration=null]",
	  message: "modules are joined into one script: export where it is declared" },
];

const problems = [
	"array-callback-return", "constructor-super", "for-direction", "getter-return", "no-async-promise-executor", "no-class-assign",
	"no-compare-neg-zero", "no-cond-assign", "no-const-assign", "no-constant-binary-expression", "no-constant-condition",
	"no-constructor-return", "no-debugger", "no-dupe-args", "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys",
	"no-duplicate-case", "no-duplicate-imports", "no-empty-pattern", "no-ex-assign", "no-fallthrough", "no-func-assign",
	"no-import-assign", "no-inner-declarations", "no-invalid-regexp", "no-irregular-whitespace", "no-loss-of-precision",
	"no-misleading-character-class", "no-new-native-nonconstructor", "no-obj-calls", "no-promise-executor-return",
	"no-prototype-builtins", "no-self-assign", "no-self-compare", "no-setter-return", "no-sparse-arrays",
	"no-template-curly-in-string", "no-this-before-super", "no-unexpected-multiline", "no-unmodified-loop-condition",
	"no-unreachable", "no-unreachable-loop", "no-unsafe-finally", "no-unsafe-negation", "no-unsafe-optional-chaining",
	"no-unused-private-class-members", "no-useless-backreference", "use-isnan", "valid-typeof",
];

const habits = [
	"no-alert", "no-caller", "no-console", "no-eval", "no-extend-native", "no-implied-eval", "no-implicit-globals", "no-new-func",
	"no-new-wrappers", "no-octal-escape", "no-proto", "no-return-assign", "no-script-url", "no-sequences",
	"no-shadow", "no-shadow-restricted-names", "no-throw-literal", "no-unneeded-ternary", "no-unused-expressions",
	"no-useless-return", "no-var", "prefer-const", "prefer-promise-reject-errors",
];

export default [{
	files: ["**/*.js"],
	ignores: ["**/eslint.config.js"],
	languageOptions: { ecmaVersion: 2022, sourceType: "module" },
	linterOptions: { reportUnusedDisableDirectives: "error", noInlineConfig: true },
	rules: {
		...Object.fromEntries([...problems, ...habits].map((rule) => [rule, "error"])),
		"eqeqeq": ["error", "always"],
		"no-control-regex": "off",
		"no-restricted-properties": ["error", ...properties],
		"no-restricted-globals": ["error", ...globals],
		"no-restricted-syntax": ["error", ...syntax],
		"no-unused-vars": ["error", { args: "after-used", caughtErrors: "none" }],
		"max-len": ["error", { code: 140, tabWidth: 4, ignoreUrls: true }],
		"max-lines-per-function": ["error", { max: 90, skipComments: true, skipBlankLines: true }],
	},
}, {
	files: ["**/live/stream.js"],
	rules: { "no-restricted-globals": ["error", ...liveGlobals] },
}];
