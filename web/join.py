#!/usr/bin/env python3
"""Joins the page's modules into one script, and writes script and style as C.

    join.py FOLDER OUTPUT.c [DEPFILE]      FOLDER has main.js, what it imports, and page.css
    join.py FOLDER --script                prints the script alone

A folder that has page.html, too, becomes one page: its style is added to that of the folder above, and both are put
where the page has {style} and {script}.

Modules come in the order in which a browser would run them: what a module imports is before it.
Imports and the word "export" are taken out, so names at the top level are unique over all modules; so are comments
on lines of their own.
"""

import base64
import hashlib
import re
import sys
from pathlib import Path

IMPORT = re.compile(r"^import\s[^;]*?['\"](\.\.?/[\w.-]+)['\"];[ \t]*\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=async |class |const |function |let )", re.MULTILINE)
NAME = re.compile(r"^(?:export )?(?:async )?(?:class|const|function\*?|let) (\w+)", re.MULTILINE)
COMMENT = re.compile(r"^[ \t]*(/\*(?:(?!\*/).)*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE | re.DOTALL)


def modules(path, found):
    """Adds a module to `found` ({path: text}) after those that it imports."""
    path = path.resolve()
    if path in found:
        return found
    found[path] = ""  # a circle ends here, as it does in a browser
    text = path.read_text(encoding="utf-8")
    for other in IMPORT.findall(text):
        modules(path.parent / other, found)
    del found[path]
    found[path] = text
    return found


def body(path, text):
    text = EXPORT.sub("", IMPORT.sub("", COMMENT.sub("", text)))
    left = re.search(r"^(import|export)\b.*", text, re.MULTILINE)
    if left:
        sys.exit(f"{path}: cannot be joined: {left[0]}")
    return re.sub(r"\n{2,}", "\n", text.strip("\n")) + "\n"


def check_names(found):
    """A name that two modules have would make the whole script a mistake."""
    owners = {}
    for path, text in found.items():
        for name in NAME.findall(text):
            if owners.setdefault(name, path) != path:
                sys.exit(f"{path}: {name} is in {owners[name].name}, too, and both become one script")


def script(folder):
    """The script, and the files it is made of."""
    found = modules(folder / "main.js", {}) if (folder / "main.js").exists() else {}
    check_names(found)
    joined = "(() => {\n'use strict';\n" + "".join(body(path, text) for path, text in found.items()) + "})();\n"
    if re.search(r"</script|<!--", joined, re.IGNORECASE):
        sys.exit("join.py: the script has </script or <!-- in it, which would end it in the page")
    return joined, list(found)


DARK = re.compile(r"^:root\[data-theme=\"dark\"\] (\{.*?^\}\n)", re.MULTILINE | re.DOTALL)


def style(*paths):
    path = paths[-1]
    text = "".join(one.read_text(encoding="utf-8") for one in paths)
    text = re.sub(r"/\*.*?\*/\s*", "", text, flags=re.DOTALL)
    text = DARK.sub(r'\g<0>@media (prefers-color-scheme: dark) {\n:root:not([data-theme="light"]) \1}\n', text)
    if re.search(r"</style|<!--|@import|url\(\s*['\"]?(?!#|data:)", text, re.IGNORECASE):
        sys.exit(f"{path}: ends the style, or asks for another file")
    return text


def as_bytes(name, text):
    data = text.encode()
    rows = "".join(",".join(map(str, data[at:at + 32])) + ",\n" for at in range(0, len(data), 32))
    return f"const unsigned char {name}[] = {{\n{rows}}};\nconst size_t {name}_size = {len(data)};\n"


def as_hash(name, text):
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f'const char {name}_hash[] = "sha256-{digest}";\n'


def parts(folder, joined):
    """Script and style for the report page, which C puts together."""
    css = [folder / "page.css"]
    text = '#include "page/page_assets.h"\n\n'
    for name, part in (("page_script", joined), ("page_style", style(*css))):
        text += as_bytes(name, part) + as_hash(name, part)
    return text, css


def whole(folder, joined):
    """The live page, which is the same for everybody."""
    css, html = [folder.parent / "page.css", folder / "page.css"], folder / "page.html"
    page = html.read_text(encoding="utf-8").replace("{style}", style(*css)).replace("{script}", joined)
    text = '#include "live/live_assets.h"\n\n' + as_bytes("live_page", page)
    return text + as_hash("live_script", joined) + as_hash("live_style", style(*css)), [*css, html]


def main():
    folder = Path(sys.argv[1])
    joined, files = script(folder)
    if sys.argv[2] == "--script":
        sys.stdout.write(joined)
        return
    text, others = (whole if (folder / "page.html").exists() else parts)(folder, joined)
    Path(sys.argv[2]).write_text(text, encoding="ascii")
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(f"{sys.argv[2]}: {' '.join(map(str, [*files, *others]))}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
