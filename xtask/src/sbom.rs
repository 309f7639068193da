//! `cargo xtask sbom`: what the program is made of, as a CycloneDX document on stdout.
//!
//! The list comes from `cargo metadata`, so it is that of `Cargo.lock`: every package that a build on
//! some platform uses, with its version, licence, checksum and what it depends on.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let document = document(root)?;
    println!("{}", serde_json::to_string_pretty(&document)?);
    Ok(ExitCode::SUCCESS)
}

/// Returns the document of the workspace at `root`.
fn document(root: &Path) -> Result<Value> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).context("reading Cargo.lock")?;
    let checksums = checksums(&lock)?;
    let metadata = metadata(root)?;
    let packages = list(&metadata, "/packages")?;
    let program = packages
        .iter()
        .find(|package| text(package, "name") == "cli")
        .context("there is no package `cli`")?;
    let components: Vec<Value> = packages
        .iter()
        .map(|package| component(package, &checksums))
        .collect();
    let by_id: BTreeMap<&str, String> = packages
        .iter()
        .map(|package| (text(package, "id"), reference(package)))
        .collect();
    let name = |id: &Value| by_id.get(id.as_str()?).cloned();
    let dependencies: Vec<Value> = list(&metadata, "/resolve/nodes")?
        .iter()
        .filter_map(|node| {
            let on = node.get("dependencies")?.as_array()?.iter();
            let on: Vec<String> = on.filter_map(name).collect();
            Some(json!({ "ref": name(node.get("id")?)?, "dependsOn": on }))
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "drawloom",
                "name": "drawloom",
                "version": text(program, "version"),
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
    });
    if let Some(licence) = package.get("license").and_then(Value::as_str) {
        // An old way of writing `OR`.
        let expression = licence.replace('/', " OR ");
        component["licenses"] = json!([{ "expression": expression }]);
    }
    if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

fn reference(package: &Value) -> String {
    let (name, version) = (text(package, "name"), text(package, "version"));
    // Of ours and of patched ones there is no other copy than the one in the repository.
    match package.get("source").is_some_and(Value::is_string) {
        true => format!("pkg:cargo/{name}@{version}"),
        false => format!("pkg:cargo/{name}@{version}?vcs_url=drawloom"),
    }
}

fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = lock.parse().context("reading Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let field = |package: &toml::Value, name: &str| Some(package.get(name)?.as_str()?.to_owned());
    let known = packages.into_iter().flatten().filter_map(|package| {
        let name = (field(package, "name")?, field(package, "version")?);
        Some((name, field(package, "checksum")?))
    });
    Ok(known.collect())
}

fn metadata(root: &Path) -> Result<Value> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--all-features",
        ])
        .current_dir(root)
        .output()
        .context("starting cargo")?;
    ensure!(
        output.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).context("reading what cargo metadata says")
}

fn list<'v>(from: &'v Value, place: &str) -> Result<&'v Vec<Value>> {
    let found = from.pointer(place).and_then(Value::as_array);
    found.with_context(|| format!("cargo metadata has no list at {place}"))
}

fn text<'v>(package: &'v Value, name: &str) -> &'v str {
    package
        .get(name)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_package_of_the_lock_file_is_listed_with_its_checksum() {
        let root = crate::workspace_root().unwrap();
        let printed = serde_json::to_string(&document(&root).unwrap()).unwrap();
        let document: Value = serde_json::from_str(&printed).unwrap();
        assert_eq!(document["bomFormat"], "CycloneDX");
        let components = document["components"].as_array().unwrap();
        let listed: BTreeSet<String> = components
            .iter()
            .map(|component| format!("{} {}", text(component, "name"), text(component, "version")))
            .collect();
        let lock = std::fs::read_to_string(root.join("Cargo.lock")).unwrap();
        let lock: toml::Table = lock.parse().unwrap();
        let locked: BTreeSet<String> = lock["package"]
            .as_array()
            .unwrap()
            .iter()
            .map(|package| {
                let field = |name: &str| package[name].as_str().unwrap();
                format!("{} {}", field("name"), field("version"))
            })
            .collect();
        assert_eq!(listed, locked);
        // Every one of them has what it depends on, among those that are listed.
        let references: BTreeSet<&str> = components
            .iter()
            .map(|component| text(component, "bom-ref"))
            .collect();
        let nodes = document["dependencies"].as_array().unwrap();
        assert_eq!(nodes.len(), components.len());
        let named = nodes
            .iter()
            .flat_map(|node| node["dependsOn"].as_array().unwrap());
        for name in named {
            assert!(references.contains(name.as_str().unwrap()), "{name}");
        }
        let foreign = components.iter();
        let foreign = foreign.filter(|component| !text(component, "purl").contains('?'));
        for component in foreign {
            assert!(component["hashes"].is_array(), "{component}");
        }
    }
}
