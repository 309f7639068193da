//! Tests the facts read out of C and C++, and the files they lead to.

use super::super::trial::{check_edges, check_exports, check_imports, check_places};

#[track_caller]
fn header(text: &str, expected: &[&str]) {
    check_exports("a.h", text, expected);
}

#[track_caller]
fn source(text: &str, expected: &[&str]) {
    check_exports("a.cpp", text, expected);
}

#[test]
fn a_header_exports_its_declarations() {
    check_places(
        "a.h",
        "#define LIMIT 3\n#define MAX(a, b) ((a) > (b))\nint add(int a, int b);\nstruct point { int x; };\n\
         typedef struct point point_t;\nenum color { RED };\nextern int count;\nunion u { int i; };\n\
         static inline int twice(int x) { return x * 2; }\n",
        &[
            "LIMIT Value 1",
            "MAX Function 2",
            "add Function 3",
            "point Class 4",
            "point_t Type 5",
            "color Enum 6",
            "count Value 7",
            "u Class 8",
            "twice Function 9",
        ],
    );
}

#[test]
fn a_source_file_exports_its_shared_definitions() {
    source(
        "static int a(void) { return 1; }\nint b(void) { return 2; }\nint c(int);\nextern int d;\nint e = 1;\n\
         static int f;\n#define G 1\nstruct h { int i; };\nint *j[3], k;\nconst int l = 1;\nvoid (*m)(int) = 0;\n",
        &["b", "e", "h", "j", "k", "m"],
    );
}

#[test]
fn guards_are_not_offered() {
    header(
        "#ifndef A_H\n#define A_H\n#ifndef B\n#define B 1\n#endif\nint f(void);\n#endif\n",
        &["B", "f"],
    );
}

#[test]
fn declarators_are_read_to_their_names() {
    header("int *f(void);", &["f"]);
    header(
        "const char *const *names(struct list *l, int (*compare)(int, int));",
        &["names"],
    );
    header("typedef int (*handler)(int);", &["handler"]);
    header(
        "typedef struct { int x; } anon, *anon_ptr;",
        &["anon", "anon_ptr"],
    );
    header("typedef unsigned char byte, bytes[4];", &["byte", "bytes"]);
    header("int (isalpha)(int c);", &["isalpha"]);
    header("typedef void (CALL *callback)(int);", &["callback"]);
    header("int (*getter(const char *name))(int, int);", &["getter"]);
    header("typedef Array(int) numbers;", &["numbers"]);
    header(
        "EXTERN int EXPORT f OF((int a)); char *g OF((void));",
        &["f", "g"],
    );
    header("extern int (*table[3])(void);", &["table"]);
    header("struct s *make(struct s *other);", &["make"]);
    header("struct s;", &[]);
    header("enum { ONE, TWO = f(3), THREE };", &["ONE", "TWO", "THREE"]);
    header("typedef enum { A, B } letter;", &["A", "B", "letter"]);
    header("unsigned long long big(void);", &["big"]);
    check_exports(
        "a.c",
        "int old(a, b) int a; char *b; { return 1; } int next() { return 1; }",
        &["old", "next"],
    );
}

#[test]
fn macros_around_declarations_do_not_hide_them() {
    header("API int f(void);", &["f"]);
    header("API_EXPORT(int) f(void);", &["f"]);
    header("BEGIN_DECLS\nint f(void);\nEND_DECLS\n", &["f"]);
    header("__attribute__((noreturn)) void f(void);", &["f"]);
    header(
        "void f(void) __attribute__((format(printf, 1, 2)));",
        &["f"],
    );
    header("int f(void) NOTHROW;", &["f"]);
    header("class EXPORT Foo : public Bar { int x; };", &["Foo"]);
    header("struct __attribute__((packed)) p { int x; };", &["p"]);
    header("DECLARE_THING(x);\nint f(void);", &["f"]);
    source("TEST(a, b) { int x = 1; }\nint f() { return 1; }", &["f"]);
}

#[test]
fn conditions_do_not_unbalance_the_rest() {
    source(
        "#ifdef A\nint f(int a) {\n#else\nint f(long a) {\n#endif\n  return 1;\n}\nint g() { return 1; }\n",
        &["f", "g"],
    );
    source(
        "#if 0\nint dead() { return 1; }\n#else\nint alive() { return 1; }\n#endif\nint g() { return 1; }\n",
        &["alive", "g"],
    );
    header(
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void);\n#ifdef __cplusplus\n}\n#endif\nint g(void);\n",
        &["f", "g"],
    );
    header(
        "#ifdef A\nint f(void);\n#else\nint g(void);\n#endif\n",
        &["f", "g"],
    );
}

#[test]
fn namespaces_and_classes_are_spelled_out() {
    header(
        "namespace a { namespace b { class C { public: void d(); }; } void e(); }\nnamespace f::g { enum class H : int { I }; }\n\
         inline namespace v1 { int j(); } namespace { int hidden(); } namespace k = a::b;",
        &["a::b::C", "a::e", "f::g::H", "j"],
    );
    source(
        "void A::b() { }\nA::A() : x(1), y{2} { }\nA::~A() {}\nint N::A<T>::c(int x) const { return 1; }\n\
         namespace n { B B::make() { return {}; } }\nbool operator==(const A& a, const A& b) { return true; }\n\
         std::ostream& A::operator<<(int x) { return y; }\nint last() { return 1; }",
        &["A::b", "N::A::c", "n::B::make", "last"],
    );
}

#[test]
fn templates_aliases_and_concepts_are_types() {
    header(
        "template <typename T, int N = (3 > 2)> class Box { };\ntemplate<> struct hash<Box> { };\n\
         template <typename T> T max(T a, T b) { return a > b ? a : b; }\nusing Map = std::map<int, Box>;\nusing namespace std;\nusing std::vector;\n\
         template <class T> concept Small = sizeof(T) < 8;\nconstexpr int limit = 3;\nstd::map<int, int> table(int x);\n\
         auto f() -> std::vector<int>;\n[[nodiscard]] int g();\nstruct Last final : A, B<int> { };",
        &[
            "Box", "max", "Map", "Small", "limit", "table", "f", "g", "Last",
        ],
    );
}

#[test]
fn strings_and_comments_are_not_code() {
    source(
        "const char *x = R\"zz(int f() { )\" )zz\"; int a() { return '{'; } // int b() {\\\nint c() { }\nint d() { return 1'000; }",
        &["x", "a", "d"],
    );
    source("/* int a() { */ int b() { return \"{\"[0]; }", &["b"]);
}

#[test]
fn a_broken_file_keeps_its_readable_exports() {
    source(
        "int a() {\n  if (x) {\n}\n\nint b() { return 1; }\n",
        &["a", "b"],
    );
    source("int a( {}\nint b() { return 1; }\n", &["b"]);
    source("}}}} int b() { return 1; }", &["b"]);
    for text in [
        "class",
        "template<",
        "namespace",
        "typedef",
        "operator",
        "struct {",
        "enum { A",
        "::",
        "a::",
        "#",
        "#include",
        "#include \"",
        "extern \"C\"",
        "(*",
        "using",
    ] {
        source(text, &[]);
    }
}

#[test]
fn includes_are_requests() {
    check_imports(
        "a.c",
        "#include \"a.h\"\n#  include <sys/types.h>\n#include MACRO\n#import \"b.h\"\n// #include \"c.h\"\n/*\n#include \"d.h\"\n*/\nint x;\n#include \"late.inc\" // why\n",
        &["a.h", "sys/types.h", "b.h", "late.inc"],
    );
}

#[test]
fn headers_are_found_beside_in_include_directories_and_by_their_path() {
    check_edges(
        &[
            (
                "src/main.c",
                "#include \"near.h\"\n#include \"lib/far.h\"\n#include <pub.h>\n#include <string.h>\n#include \"deep.h\"\n#include \"../top.h\"\n#include \"none.h\"",
            ),
            ("src/near.h", ""),
            ("src/lib/far.h", "#include \"near.h\""),
            ("include/pub.h", "#include <proj/inner.h>"),
            ("include/proj/inner.h", ""),
            ("third/party/deep.h", ""),
            ("third/string.h", ""),
            ("top.h", ""),
        ],
        &[
            "include/pub.h -> include/proj/inner.h",
            "src/lib/far.h -> src/near.h",
            "src/main.c -> include/pub.h",
            "src/main.c -> src/lib/far.h",
            "src/main.c -> src/near.h",
            "src/main.c -> third/party/deep.h",
            "src/main.c -> top.h",
        ],
    );
}
