//! The program that builds sandboxes in the tests of this crate.

fn main() {
    exec::sandbox::serve_stages();
}
