//! The one job in the form each generator wants it, and the command that runs it.
//!
//! The job: a TypeScript interface of 20 fields (a loop, an if with an else, case conversion of names),
//! written `count` times. The sources are in `benches/generators`. Tools that make one file per template
//! get `count` copies of their template; those that can loop, loop.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::scratch::Scratch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Drawloom,
    Hygen,
    Plop,
    Copier,
    Cookiecutter,
}

impl Tool {
    pub(crate) const ALL: [Self; 5] = [
        Self::Drawloom,
        Self::Hygen,
        Self::Plop,
        Self::Copier,
        Self::Cookiecutter,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Drawloom => "drawloom",
            Self::Hygen => "hygen 6.2.11",
            Self::Plop => "plop 4.0.5",
            Self::Copier => "copier 9.19.1",
            Self::Cookiecutter => "cookiecutter 2.7.1",
        }
    }
}

/// The tools, installed or built, and the sources of the job.
pub(crate) struct Workshop {
    sources: PathBuf,
    drawloom: PathBuf,
    node_modules: PathBuf,
    python_bin: PathBuf,
    /// A home of its own: some tools keep settings and a record of answers there.
    home: PathBuf,
}

impl Workshop {
    pub(crate) fn open(root: &Path, scratch: &Scratch) -> Result<Self> {
        let node = scratch.npm("generators-npm", &["hygen@6.2.11", "plop@4.0.5"])?;
        let python = scratch.pip("generators-pip", &["copier==9.19.1", "cookiecutter==2.7.1"])?;
        Ok(Self {
            sources: root.join("benches/generators"),
            drawloom: scratch.build(&["--package", "cli"], "drawloom")?,
            node_modules: node.join("node_modules"),
            python_bin: python.join("bin"),
            home: scratch.fresh("generators-home")?,
        })
    }

    /// Writes the job for `count` files into `folder`.
    pub(crate) fn lay(&self, tool: Tool, count: usize, folder: &Path) -> Result<()> {
        let names: Vec<String> = (0..count)
            .map(|index| format!("order_item_m{index}"))
            .collect();
        match tool {
            Tool::Drawloom => {
                self.copy("drawloom/recipe.yml", &folder.join("recipe.yml"), &[])?;
                let template = "drawloom/templates/model.ts.jig";
                self.copy(template, &folder.join("templates/model.ts.jig"), &[])
            }
            Tool::Hygen => self.lay_hygen(&names, &folder.join("model/new")),
            Tool::Plop => {
                let filled = [
                    ("__FIELDS__", self.fields()?),
                    ("__COUNT__", count.to_string()),
                ];
                self.copy("plop/plopfile.mjs", &folder.join("plopfile.mjs"), &filled)?;
                self.copy("plop/model.ts.hbs", &folder.join("model.ts.hbs"), &[])
            }
            Tool::Copier => {
                let filled = [
                    ("__FIELDS__", self.fields()?),
                    ("__NAMES__", format!("{names:?}")),
                ];
                self.copy("copier/copier.yml", &folder.join("copier.yml"), &filled)?;
                let file = "out/{% yield name from names %}{{ name | replace('_', '-') }}\
                            {% endyield %}.ts.jinja";
                self.copy("model.ts.jinja", &folder.join(file), &[])
            }
            Tool::Cookiecutter => self.lay_cookiecutter(&names, folder),
        }
    }

    fn lay_hygen(&self, names: &[String], folder: &Path) -> Result<()> {
        let filled = [("__FIELDS__", self.fields()?)];
        self.copy("hygen/index.js", &folder.join("index.js"), &filled)?;
        for name in names {
            let filled = [("__NAME__", name.clone())];
            self.copy(
                "hygen/model.ejs.t",
                &folder.join(format!("{name}.ejs.t")),
                &filled,
            )?;
        }
        Ok(())
    }

    fn lay_cookiecutter(&self, names: &[String], folder: &Path) -> Result<()> {
        let filled = [("__FIELDS__", self.fields()?)];
        self.copy(
            "cookiecutter/cookiecutter.json",
            &folder.join("cookiecutter.json"),
            &filled,
        )?;
        let body = self.read("model.ts.jinja")?;
        for name in names {
            let file =
                format!("{{{{ cookiecutter.folder }}}}/{{{{ '{name}' | replace('_', '-') }}}}.ts");
            let head =
                format!("{{% set name = '{name}' %}}\n{{% set fields = cookiecutter._fields %}}\n");
            write(&folder.join(file), &format!("{head}{body}"))?;
        }
        Ok(())
    }

    /// The command that does the job laid in `job`, to be run in an empty folder.
    pub(crate) fn command(&self, tool: Tool, count: usize, job: &Path) -> Command {
        let mut command = match tool {
            Tool::Drawloom => {
                let mut command = Command::new(&self.drawloom);
                command
                    .arg("run")
                    .arg(job)
                    .args(["--count", &count.to_string()]);
                command
            }
            Tool::Hygen => {
                let mut command = self.node("hygen/dist/bin.js");
                command.args(["model", "new"]).env("HYGEN_TMPLS", job);
                command
            }
            Tool::Plop => {
                let mut command = self.node("plop/bin/plop.js");
                command
                    .arg("--plopfile")
                    .arg(job.join("plopfile.mjs"))
                    .arg("model");
                command
            }
            Tool::Copier => {
                let mut command = Command::new(self.python_bin.join("copier"));
                command
                    .args(["copy", "--defaults", "--quiet"])
                    .arg(job)
                    .arg(".");
                command
            }
            Tool::Cookiecutter => {
                let mut command = Command::new(self.python_bin.join("cookiecutter"));
                command.arg("--no-input").arg(job);
                command
            }
        };
        command.env("HOME", &self.home);
        command
    }

    fn node(&self, script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.node_modules.join(script));
        command
    }

    /// The fields as JSON on one line, which is also YAML, JavaScript and Python.
    fn fields(&self) -> Result<String> {
        Ok(self
            .read("fields.json")?
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "))
    }

    fn copy(&self, from: &str, to: &Path, filled: &[(&str, String)]) -> Result<()> {
        let mut text = self.read(from)?;
        for (mark, value) in filled {
            text = text.replace(mark, value);
        }
        write(to, &text)
    }

    fn read(&self, path: &str) -> Result<String> {
        let full = self.sources.join(path);
        std::fs::read_to_string(&full).with_context(|| format!("cannot read {}", full.display()))
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().context("a job's file must be in a folder")?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
