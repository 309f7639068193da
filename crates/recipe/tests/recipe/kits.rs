//! Finding recipes: by name, by kit, by path; and pinning kits.

use std::path::Path;

use crate::check::{RECIPE, recipe, write};
use recipe::kits::{KitLock, LockedKit, discover, hash_tree, resolve};
use workspace::{RelPath, Root};

const STEPS: &str = "steps:\n  - command: 'true'\n";

fn project() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let manifest = |path: &str, name: &str| {
        write(
            dir.path(),
            path,
            &format!("name: {name}\ndescription: about {name}\n{STEPS}"),
        )
    };
    manifest(".drawloom/recipes/hello/recipe.yml", "hello");
    manifest(".drawloom/recipes/group/deep/recipe.yml", "deep");
    manifest(".drawloom/recipes/single.yml", "single");
    write(
        dir.path(),
        ".drawloom/kits/next/kit.yml",
        "name: '@kit/nextjs'\ndefaults: { cookbook: crud, recipe: add }\n",
    );
    write(
        dir.path(),
        ".drawloom/kits/next/cookbooks/crud/cookbook.yml",
        "name: crud\ndefaults: { recipe: edit }\n",
    );
    manifest(".drawloom/kits/next/cookbooks/crud/edit/recipe.yml", "edit");
    manifest(".drawloom/kits/next/cookbooks/crud/add/recipe.yml", "add");
    manifest(".drawloom/kits/next/page/recipe.yml", "page");
    write(
        dir.path(),
        ".drawloom/kits/other/kit.yml",
        "name: other\nrecipes: ['./all/*']\n",
    );
    manifest(".drawloom/kits/other/all/page/recipe.yml", "page");
    write(
        dir.path(),
        ".drawloom/kits/other/all/bad/recipe.yml",
        "name: bad\n",
    );
    manifest("elsewhere/recipe.yml", "elsewhere");
    dir
}

#[test]
fn the_catalog_lists_broken_recipes_with_their_error() {
    let dir = project();
    let catalog = discover(&Root::open(dir.path()).unwrap()).unwrap();
    let listed: Vec<String> = catalog
        .all()
        .map(|listing| match &listing.problem {
            None => listing.id.clone(),
            Some(problem) => format!("{} ({})", listing.id, problem.diagnostics()[0].message),
        })
        .collect();
    assert_eq!(
        listed,
        [
            "group/deep",
            "hello",
            "single",
            "next/page",
            "next/crud/add",
            "next/crud/edit",
            "other/bad (`steps` is missing in a recipe)",
            "other/page",
        ]
    );
}

#[track_caller]
fn check(words: &str, expected: Result<(&str, usize), &str>) {
    let dir = project();
    let root = Root::open(dir.path()).unwrap();
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let found = resolve(&root, root.path(), &words);
    match (found, expected) {
        (Ok(found), Ok((path, words))) => {
            let inside = found.path.strip_prefix(root.path()).unwrap_or(&found.path);
            assert_eq!((inside, found.words), (Path::new(path), words));
        }
        (Err(found), Err(expected)) => {
            assert!(found.to_string().contains(expected), "{found}");
        }
        (found, expected) => panic!("{found:?} is not {expected:?}"),
    }
}

#[test]
fn words_lead_to_recipes() {
    check("hello World", Ok((".drawloom/recipes/hello/recipe.yml", 1)));
    check("single", Ok((".drawloom/recipes/single.yml", 1)));
    check(
        "group/deep x",
        Ok((".drawloom/recipes/group/deep/recipe.yml", 1)),
    );
    check(
        "next crud edit Org",
        Ok((".drawloom/kits/next/cookbooks/crud/edit/recipe.yml", 3)),
    );
    check(
        "next/crud/edit Org",
        Ok((".drawloom/kits/next/cookbooks/crud/edit/recipe.yml", 1)),
    );
    check(
        "nextjs crud Org",
        Ok((".drawloom/kits/next/cookbooks/crud/edit/recipe.yml", 2)),
    );
    check(
        "next add Org",
        Ok((".drawloom/kits/next/cookbooks/crud/add/recipe.yml", 2)),
    );
    check(
        "next",
        Ok((".drawloom/kits/next/cookbooks/crud/add/recipe.yml", 1)),
    );
    check("next/page", Ok((".drawloom/kits/next/page/recipe.yml", 1)));
    check(
        "edit",
        Ok((".drawloom/kits/next/cookbooks/crud/edit/recipe.yml", 1)),
    );
    check("./elsewhere x", Ok(("elsewhere", 1)));
    check("elsewhere x", Ok(("elsewhere", 1)));
    check("a/b.yml", Ok(("a/b.yml", 1)));
    check("page", Err("say which: next/page, other/page"));
    check("helo", Err("did you mean `hello`?"));
    check("other", Err("its recipes: other/bad, other/page"));
}

#[test]
fn a_lock_names_source_commit_and_content() {
    let dir = project();
    let root = Root::open(dir.path()).unwrap();
    let kit = RelPath::parse(".drawloom/kits/other").unwrap();
    let hash = hash_tree(&root, &kit).unwrap();
    assert!(hash.starts_with("sha256:") && hash.len() == 71);
    let mut lock = KitLock::read(&root).unwrap();
    let (source, commit) = (
        "https://example.org/k.git".to_owned(),
        Some("abc".to_owned()),
    );
    lock.kits.insert(
        "other".to_owned(),
        LockedKit {
            source,
            rev: None,
            commit,
            hash: hash.clone(),
        },
    );
    assert_eq!(KitLock::parse(&lock.render()).unwrap(), lock);
    write(
        dir.path(),
        ".drawloom/kits/other/kit.yml",
        "name: changed\n",
    );
    assert_ne!(hash_tree(&root, &kit).unwrap(), hash);
    let error = KitLock::parse("{\n  \"version\": 1,\n  \"kits\": 7\n}").unwrap_err();
    assert!(error.to_string().contains("kits.lock:3:"), "{error}");
}

#[test]
fn a_recipe_outside_the_project_can_be_run_by_path() {
    let other = tempfile::tempdir().unwrap();
    write(
        other.path(),
        "recipe.yml",
        "name: far\nsteps:\n  - template: a\n",
    );
    write(
        other.path(),
        "templates/a.jig",
        "---\nto: near\n---\nx {{ recipe.name }}\n",
    );
    let mut case = recipe("name: it\nsteps:\n  - command: 'true'\n");
    case.recipe = other.path().display().to_string();
    let ran = case.run();
    ran.assert_files(&[("near", "x far\n")]);
    assert!(ran.exists(RECIPE));
}
