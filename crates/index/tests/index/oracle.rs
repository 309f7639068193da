//! Compares the index of a small corpus with the results of the TypeScript compiler and
//! dependency-cruiser.
//!
//! `corpus.json` holds their answers: the names by `benches/index/names.cjs`, the imports by
//! dependency-cruiser with `benches/index/cruiser.cjs`, both run in a copy of `corpus` in whose
//! `node_modules` the two packages were linked, as `npm install` links them. `cargo xtask bench index`
//! asks both about 700 files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use index::{IndexCache, SourceIndex};

use crate::project::open;

#[derive(Debug, PartialEq, Eq, serde::Deserialize)]
struct Answer {
    exports: BTreeSet<String>,
    imports: BTreeSet<String>,
}

#[test]
fn the_oracles_and_the_index_agree_on_every_name_and_every_import() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/index");
    let told = std::fs::read_to_string(here.join("corpus.json")).unwrap();
    let expected: BTreeMap<String, Answer> = serde_json::from_str(&told).unwrap();
    let index = SourceIndex::build(&open(&here.join("corpus")), &IndexCache::none()).unwrap();
    let found: BTreeMap<String, Answer> = index
        .files()
        .iter()
        .filter(|file| expected.contains_key(file.path.as_str()))
        .map(|file| {
            let imports = index.neighbours(&file.path).imports;
            let answer = Answer {
                exports: file.exports.iter().map(|it| it.name.clone()).collect(),
                imports: imports.iter().map(ToString::to_string).collect(),
            };
            (file.path.to_string(), answer)
        })
        .collect();
    assert_eq!(found, expected);
}
