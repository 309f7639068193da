//! Changes to one part of a text that leave every other byte as it was.

use crate::document::Document;
use crate::syntax::{Link, Mention, StatementKind};

impl Document {
    pub(crate) fn mention(&self, place: (usize, usize, usize)) -> Option<&Mention> {
        let StatementKind::Chain(chain) = &self.statements.get(place.0)?.kind else {
            return None;
        };
        chain.groups.get(place.1)?.get(place.2)
    }

    pub(crate) fn link(&self, edge: usize) -> Option<&Link> {
        let (statement, link) = self.places.links.get(edge)?;
        let StatementKind::Chain(chain) = &self.statements.get(*statement)?.kind else {
            return None;
        };
        chain.links.get(*link)
    }
}
