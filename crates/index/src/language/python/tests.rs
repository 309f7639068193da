//! Tests the facts read out of Python, and the files they lead to.

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[track_caller]
fn exports(text: &str, expected: &[&str]) {
    check_exports("pkg/mod.py", text, expected);
}

#[track_caller]
fn imports(text: &str, expected: &[&str]) {
    check_imports("pkg/mod.py", text, expected);
}

#[test]
fn names_at_the_top_level_are_offered_with_their_places() {
    check_places(
        "a.py",
        "import os\n\nLIMIT = 3\n\ndef f(x):\n    y = 1\n    def g(): pass\n\n@decorated\nclass C(Base):\n    attr = 1\n\n\
         async def h(): ...\nx: int = 3\ntype Alias = int\n",
        &[
            "LIMIT Value 3",
            "f Function 5",
            "C Class 10",
            "h Function 13",
            "x Value 14",
            "Alias Type 15",
        ],
    );
}

#[test]
fn names_that_begin_with_an_underscore_are_not_offered() {
    exports(
        "_a = 1\ndef _b(): pass\nclass __C: pass\n__version__ = '1'\n",
        &[],
    );
}

#[test]
fn statements_that_hold_others_hide_nothing() {
    exports(
        "if x:\n    a = 1\n    def b(): pass\nelif y:\n    c = 1\nelse: d = 1\ntry:\n    e = 1\nexcept X as err:\n    f = 1\n\
         finally:\n    g = 1\nwith open() as h:\n    i = 1\nfor j in y:\n    k = 1\nwhile z: l = 1; m = 2\nmatch v:\n    case 1:\n        n = 1\n",
        &["a", "b", "c", "d", "e", "f", "g", "i", "k", "l", "m", "n"],
    );
}

#[test]
fn only_plain_targets_are_names() {
    exports("a = b = c, d = 1, 2\n", &["a", "b", "c", "d"]);
    exports("(a, [b, *c]) = f(d=1)\n", &["a", "b", "c"]);
    exports(
        "a.b = 1\na[0] = 1\nf(x).y = 1\na += 1\na == 1\nf(a=1)\nassert a <= b\nprint(x, sep='=')\n",
        &[],
    );
    exports("a[b], c = 1, 2\n", &["c"]);
    exports(
        "x = y if z == 1 else w\nl = lambda a=1: a\nmatch = 1\ntype = 2\ncase = 3\n",
        &["x", "l", "match", "type", "case"],
    );
    exports("if (n := 1): pass\n", &[]);
    exports("d: Dict[str, int]\ne: int\nf.g: int = 1\n", &["d", "e"]);
}

#[test]
fn a_literal_list_is_the_answer() {
    exports(
        "__all__ = ['a', \"b\"]\ndef a(): pass\ndef c(): pass\n",
        &["b", "a"],
    );
    exports("__all__ = ('_a',)\n_a = 1\n", &["_a"]);
    exports(
        "__all__ = ['a'] + ['b']\n__all__ += ['c']\n__all__.extend(['d'])\n__all__.append('e')\n",
        &["a", "b", "c", "d", "e"],
    );
    exports(
        "__all__: list[str] = [\n    'a',  # why\n    'b',\n]\n",
        &["a", "b"],
    );
    exports("__all__ = []\ndef a(): pass\n", &[]);
    exports(
        "__all__ = other.__all__ + ['a']\ndef b(): pass\n",
        &["a", "b"],
    );
}

#[test]
fn a_computed_all_adds_to_the_public_names() {
    exports(
        "__all__ = [x for x in dir() if x[0] != '_']\ndef a(): pass\n",
        &["a"],
    );
    exports(
        "__all__ = ['a']\n__all__ += [f'{x}' for x in y]\ndef b(): pass\n",
        &["a", "b"],
    );
}

#[test]
fn packages_re_export_their_imports() {
    check_exports(
        "pkg/__init__.py",
        "from .a import B, _c\nfrom . import d\nfrom other import E\nimport os\n",
        &["B", "d"],
    );
    exports(
        "from .a import B\nfrom .c import D as D\nimport e as e\nfrom f import g as h\n",
        &["D", "e"],
    );
}

#[test]
fn strings_and_comments_are_not_code() {
    exports("'''\na = 1\n'''\nb = 1\n", &["b"]);
    exports(
        "x = '''\ny = 1\n''' + \"\"\"\nz = 1\"\"\"\nw = r'\\'\nv = 1\n",
        &["x", "w", "v"],
    );
    exports("x = '\\''\ny = \"#\" # z = 1\nw = 1\n", &["x", "y", "w"]);
    exports(
        "x = f'{a['b']}' f\"{c:{d}}\" f'{{' rf\"{e!r:>10}\"\ny = 1\n",
        &["x", "y"],
    );
    exports(
        "x = f'''{\n  g(\"'''\")\n}'''\ny = f'{z:\\'>3}'\nw = 1\n",
        &["x", "y", "w"],
    );
    exports("x = (1 +\ny == 2)\nz = \\\n  1\nw = 1\n", &["x", "z", "w"]);
    exports("\u{feff}a = 1\r\nb = 2\r\n\tc = 3\r\n", &["a", "b", "c"]);
}

#[test]
fn imports_of_every_form_are_requests() {
    imports("import a, b.c as d, e.f\n", &["a", "b.c", "e.f"]);
    imports("from a.b import c, d as e\n", &["a.b.c", "a.b.d"]);
    imports(
        "from . import a\nfrom .. import b\nfrom .c import d\nfrom ...e.f import g\n",
        &[".a", "..b", ".c.d", "...e.f.g"],
    );
    imports(
        "from a import (\n    b,  # why\n    c as d,\n)\n",
        &["a.b", "a.c"],
    );
    imports("from a import *\n", &["a.*"]);
    imports(
        "def f():\n    import a\n    from b import c; import d\n",
        &["a", "b.c", "d"],
    );
    imports(
        "try: import a\nexcept ImportError: import b\nif x: from c import d\n",
        &["a", "b", "c.d"],
    );
    imports(
        "m = importlib.import_module('a.b')\nn = __import__(\"c\")\nimport_module('a' + x)\nimport_module(f'a.{x}')\n",
        &["a.b", "c"],
    );
    imports(
        "def f():\n    yield from x\nraise A from b\n'import z'\n",
        &[],
    );
}

#[test]
fn a_broken_file_keeps_its_readable_exports() {
    exports("a = (1,\n\ndef b():\n    pass\n", &["a", "b"]);
    exports("def a(x:\n    pass\n\nclass B:\n    pass\n", &["a", "B"]);
    exports("x = 'never closed\ny = 1\n", &["x", "y"]);
    exports("a = 1\n'''never closed\nb = 1\n", &["a"]);
    for text in [
        "def",
        "class",
        "import",
        "from",
        "from .",
        "from . import",
        "x =",
        "=",
        "__all__",
        "__all__ =",
        "f'{",
        "f'{x:",
        "f'{'",
        "\\",
        "'",
        "'''",
        "@",
        "async",
        "match",
        "case",
        "type",
        "\u{feff}",
        ":",
        "if",
        "lambda:",
    ] {
        exports(text, if text == "x =" { &["x"] } else { &[] });
        imports(text, &[]);
    }
}

#[test]
fn modules_are_found_by_package_directory_and_root() {
    check_edges(
        &[
            ("pyproject.toml", "[project]\nname = 'p'\n"),
            (
                "src/p/__init__.py",
                "from .core import run\nfrom . import util",
            ),
            (
                "src/p/core.py",
                "import p.util\nfrom p.sub.deep import X\nfrom p import util, NAME\nimport json\n",
            ),
            ("src/p/util.py", "from .sub import *"),
            ("src/p/sub/__init__.py", "from ..core import run"),
            (
                "src/p/sub/deep.py",
                "from . import other\nfrom .other import Y\nfrom ... import nothing",
            ),
            ("src/p/sub/other.py", ""),
            ("src/p/typed.pyi", "from .util import z"),
            ("src/ns/one.py", "from ns.two import b\nimport ns"),
            ("src/ns/two.py", ""),
            (
                "tests/test_core.py",
                "from p.core import run\nimport helper\nfrom p import typed",
            ),
            ("tests/helper.py", ""),
            ("json.py", ""),
        ],
        &[
            "src/ns/one.py -> src/ns/two.py",
            "src/p/__init__.py -> src/p/core.py",
            "src/p/__init__.py -> src/p/util.py",
            "src/p/core.py -> json.py",
            "src/p/core.py -> src/p/__init__.py",
            "src/p/core.py -> src/p/sub/deep.py",
            "src/p/core.py -> src/p/util.py",
            "src/p/sub/__init__.py -> src/p/core.py",
            "src/p/sub/deep.py -> src/p/sub/other.py",
            "src/p/typed.pyi -> src/p/util.py",
            "src/p/util.py -> src/p/sub/__init__.py",
            "tests/test_core.py -> src/p/core.py",
            "tests/test_core.py -> src/p/typed.pyi",
            "tests/test_core.py -> tests/helper.py",
        ],
    );
}

#[test]
fn manifests_say_where_packages_begin() {
    check_edges(
        &[
            (
                "a/pyproject.toml",
                "[tool.setuptools.package-dir]\n'' = 'code'\n",
            ),
            ("a/code/x/__init__.py", ""),
            ("a/test_x.py", "import x"),
            (
                "b/pyproject.toml",
                "[tool.poetry]\npackages = [{ include = 'y', from = 'lib/py' }]\n",
            ),
            ("b/lib/py/y.py", ""),
            ("b/t/use.py", "import y"),
            ("c/app/main.py", "from app.models import User"),
            ("c/app/models.py", ""),
        ],
        &[
            "a/test_x.py -> a/code/x/__init__.py",
            "b/t/use.py -> b/lib/py/y.py",
            "c/app/main.py -> c/app/models.py",
        ],
    );
}
