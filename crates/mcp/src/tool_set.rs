//! Sets of tools that are switched on together, so that a model sees no tool it has no use for.

use std::str::FromStr;

/// One set of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSet {
    /// Recipes.
    Generate,
    /// Workflows and their tasks.
    Runs,
    /// Writing workflows and templates.
    Author,
    /// Builds.
    Build,
    /// The project's files and their imports.
    Look,
}

impl ToolSet {
    /// All of them; the settings name the same.
    pub const ALL: [ToolSet; 5] = [
        ToolSet::Generate,
        ToolSet::Runs,
        ToolSet::Author,
        ToolSet::Build,
        ToolSet::Look,
    ];

    /// The sets that are on when nothing else is said.
    pub const DEFAULT: [ToolSet; 2] = [ToolSet::Generate, ToolSet::Runs];

    /// The word on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolSet::Generate => "generate",
            ToolSet::Runs => "runs",
            ToolSet::Author => "author",
            ToolSet::Build => "build",
            ToolSet::Look => "look",
        }
    }
}

impl FromStr for ToolSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = ToolSet::ALL.into_iter().find(|set| set.as_str() == text);
        found.ok_or_else(|| {
            let words = ToolSet::ALL.map(ToolSet::as_str).join(", ");
            format!("`{text}` is no set of tools; the sets are {words}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_name_the_same_sets() {
        assert_eq!(ToolSet::ALL.map(ToolSet::as_str), app::settings::TOOL_SETS);
        let usual = ToolSet::DEFAULT.map(ToolSet::as_str);
        assert_eq!(usual, app::settings::TOOL_SETS_DEFAULT);
    }
}
