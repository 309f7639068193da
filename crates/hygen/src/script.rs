//! The scripts of an EJS text, read as the one program they are, turned into a tree.

use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    Argument, BindingPattern, CallExpression, Expression, IfStatement, Program, Statement,
    VariableDeclaration,
};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};

use super::ejs::{EjsPiece, PieceKind};
use super::ejs_tree::{EjsIf, EjsNode, EjsPrint};
use super::print::{self, PrintContext};
use super::script_analysis::{NameUse, ScriptAnalysis, ScriptChange, rewritten, survey};

/// The function whose calls mark the pieces of the text in the program.
const MARK: &str = "__hygen_piece__";

/// Deepest nesting of brackets.
pub(super) const NESTING_MAX: usize = 200;

/// A template's meaning.
#[derive(Default)]
pub(super) struct ParsedTemplate {
    pub(super) nodes: Vec<EjsNode>,
    /// Names from outside, with their line.
    pub(super) uses: Vec<(NameUse, u32)>,
    pub(super) warnings: Vec<(u32, String)>,
}

/// Pairs the tags of a text.
pub(super) fn read(pieces: &[EjsPiece]) -> ParsedTemplate {
    let script = EjsScript::of(pieces);
    if nesting(&script.text) > NESTING_MAX {
        let message = format!("it is nested deeper than NESTING_MAX = {NESTING_MAX}");
        return unpaired(pieces, &message);
    }
    let allocator = Allocator::default();
    let options = ParseOptions {
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    let parsed = Parser::new(&allocator, &script.text, SourceType::script())
        .with_options(options)
        .parse();
    if !parsed.diagnostics.is_empty() || parsed.panicked {
        let message = parsed
            .diagnostics
            .iter()
            .next()
            .map(|error| error.message.to_string());
        return unpaired(pieces, &message.unwrap_or_default());
    }
    let found = survey(&parsed.program, MARK);
    let mut reader = ScriptReader {
        pieces,
        script: &script,
        found: &found,
        unsure: HashSet::new(),
        warnings: Vec::new(),
    };
    let nodes = reader.program(&parsed.program);
    let mut warnings = reader.warnings;
    warnings.extend(
        found
            .problems
            .iter()
            .map(|(at, problem)| (script.line(*at, pieces), problem.clone())),
    );
    let uses = found
        .uses
        .iter()
        .map(|used| (used.clone(), script.line(used.at, pieces)))
        .collect();
    ParsedTemplate {
        nodes,
        uses,
        warnings,
    }
}

/// Returns how deep brackets are nested, counting those in strings.
pub(super) fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Tags that make no program: each value by itself, everything else kept as a comment.
fn unpaired(pieces: &[EjsPiece], message: &str) -> ParsedTemplate {
    let mut whole = ParsedTemplate::default();
    let is_code = |piece: &&EjsPiece| matches!(piece.kind, PieceKind::Code(_));
    let line = pieces
        .iter()
        .find(is_code)
        .or(pieces.first())
        .map_or(1, |piece| piece.line);
    if pieces.len() > 1 {
        let message = format!(
            "the scripts of this file make no program ({message}); each was kept as a comment \
                 where it stood: pair them by hand"
        );
        whole.warnings.push((line, message));
    }
    for piece in pieces {
        match &piece.kind {
            PieceKind::Text(text) => whole.nodes.push(EjsNode::Text(text.clone())),
            PieceKind::Comment(text) => whole.nodes.push(EjsNode::Comment(text.clone())),
            PieceKind::Print { .. } if pieces.len() > 1 => {
                let read = read(std::slice::from_ref(piece));
                whole.nodes.extend(read.nodes);
                whole.uses.extend(read.uses);
                whole.warnings.extend(read.warnings);
            }
            _ => {
                whole.nodes.push(EjsNode::Lost(piece.source.clone()));
                if pieces.len() == 1 {
                    let message =
                        format!("`{}` was not carried over ({message})", piece.source.trim());
                    whole.warnings.push((piece.line, message));
                }
            }
        }
    }
    whole
}

/// The program, and which part of it comes from which piece.
pub(super) struct EjsScript {
    pub(super) text: String,
    starts: Vec<usize>,
}

impl EjsScript {
    fn of(pieces: &[EjsPiece]) -> Self {
        let mut text = String::new();
        let mut starts = Vec::new();
        for (index, piece) in pieces.iter().enumerate() {
            starts.push(text.len());
            match &piece.kind {
                PieceKind::Code(code) => text.push_str(&format!(";{code}\n")),
                PieceKind::Print { code, .. } => {
                    let code = code.trim_end().strip_suffix(';').unwrap_or(code);
                    text.push_str(&format!(";{MARK}({index},{code}\n)\n"));
                }
                _ => text.push_str(&format!(";{MARK}({index})\n")),
            }
        }
        EjsScript { text, starts }
    }

    fn piece(&self, at: u32) -> usize {
        self.starts
            .partition_point(|start| *start <= at as usize)
            .saturating_sub(1)
    }

    /// Returns the line of the template file that a place of the script comes from.
    pub(super) fn line(&self, at: u32, pieces: &[EjsPiece]) -> u32 {
        let index = self.piece(at);
        let before = self
            .text
            .get(self.starts.get(index).copied().unwrap_or(0)..at as usize);
        let lines = before.unwrap_or("").matches('\n').count();
        pieces.get(index).map_or(1, |piece| piece.line) + u32::try_from(lines).unwrap_or(0)
    }
}

pub(super) struct ScriptReader<'r> {
    pub(super) pieces: &'r [EjsPiece],
    pub(super) script: &'r EjsScript,
    pub(super) found: &'r ScriptAnalysis,
    /// Variables of the template that may be null.
    pub(super) unsure: HashSet<String>,
    pub(super) warnings: Vec<(u32, String)>,
}

/// Reason why a statement cannot be expressed in a template.
pub(super) struct UnsupportedStatement(pub(super) String);

pub(super) type ScriptResult<T> = Result<T, UnsupportedStatement>;

impl ScriptReader<'_> {
    fn program(&mut self, program: &Program<'_>) -> Vec<EjsNode> {
        self.statements(&program.body)
    }

    pub(super) fn statements(&mut self, statements: &[Statement<'_>]) -> Vec<EjsNode> {
        let mut nodes = Vec::new();
        for statement in statements {
            match self.statement(statement) {
                Ok(found) => nodes.extend(found),
                Err(UnsupportedStatement(why)) => nodes.push(self.lost(statement.span(), &why)),
            }
        }
        nodes
    }

    fn statement(&mut self, statement: &Statement<'_>) -> ScriptResult<Vec<EjsNode>> {
        match statement {
            Statement::EmptyStatement(_) => Ok(Vec::new()),
            Statement::BlockStatement(block) => Ok(self.statements(&block.body)),
            Statement::ExpressionStatement(it) => self.expression_statement(&it.expression),
            Statement::VariableDeclaration(it) => self.declaration(it),
            Statement::IfStatement(it) => self.choice(it).map(|choice| vec![EjsNode::If(choice)]),
            Statement::ForOfStatement(it) => self.for_of(it),
            Statement::ForInStatement(it) => self.for_in(it),
            Statement::ForStatement(it) => self.counted(it),
            Statement::FunctionDeclaration(it) => {
                let (Some(id), Some(body)) = (&it.id, &it.body) else {
                    return Err(UnsupportedStatement("a function without a body".to_owned()));
                };
                let parameters = self.text(it.params.span);
                let code = format!("{parameters} => {}", self.text(body.span));
                self.check(&code)?;
                Ok(vec![EjsNode::Quiet(format!("@let({} = {code})", id.name))])
            }
            other => Err(UnsupportedStatement(format!(
                "{} has no counterpart in templates",
                name_of(other)
            ))),
        }
    }

    fn expression_statement(&mut self, expression: &Expression<'_>) -> ScriptResult<Vec<EjsNode>> {
        if let Expression::CallExpression(call) = expression {
            if let Some(index) = marked(call) {
                return self.piece(
                    index,
                    call.arguments.get(1).and_then(Argument::as_expression),
                );
            }
            if let Some(found) = self.for_each(call)? {
                return Ok(found);
            }
        }
        let code = self.text(expression.span());
        if code.contains(MARK) {
            return Err(UnsupportedStatement(
                "text inside a function cannot be printed from a template".to_owned(),
            ));
        }
        self.check(&code)?;
        let assigns = matches!(expression, Expression::AssignmentExpression(it)
            if it.left.get_identifier_name().is_some());
        let tag = if assigns { "assign" } else { "eval" };
        Ok(vec![EjsNode::Quiet(format!("@{tag}({code})"))])
    }

    /// Returns the nodes a mark is a placeholder for.
    fn piece(
        &mut self,
        index: usize,
        value: Option<&Expression<'_>>,
    ) -> ScriptResult<Vec<EjsNode>> {
        let Some(piece) = self.pieces.get(index) else {
            return Ok(Vec::new());
        };
        Ok(vec![match (&piece.kind, value) {
            (PieceKind::Text(text), _) => EjsNode::Text(text.clone()),
            (PieceKind::Comment(text), _) => EjsNode::Comment(text.clone()),
            (PieceKind::Print { escapes_html, .. }, Some(value)) => {
                let printing = PrintContext {
                    unsure: &self.unsure,
                    escapes_html: *escapes_html,
                };
                let output = printing.of(value);
                if output.escaped {
                    let message = "hygen writes `&lt;` for `<` in `<%= %>`, and so does this; \
                                   write the characters themselves if that was not meant";
                    self.warnings.push((piece.line, message.to_owned()));
                }
                let mut changes: Vec<&ScriptChange> = output.changes.iter().collect();
                changes.extend(&self.found.changes);
                let code = rewritten(&self.script.text, value.span(), &changes);
                self.check(&code)?;
                EjsNode::Print(print::never_null(code, value, output.nullable))
            }
            _ => EjsNode::Lost(piece.source.clone()),
        }])
    }

    fn declaration(&mut self, it: &VariableDeclaration<'_>) -> ScriptResult<Vec<EjsNode>> {
        let mut nodes = Vec::new();
        for declarator in &it.declarations {
            let value = match &declarator.init {
                Some(init) => self.value(init)?.code,
                None => "undefined".to_owned(),
            };
            let printing = PrintContext {
                unsure: &self.unsure,
                escapes_html: false,
            };
            let sure = matches!(declarator.id, BindingPattern::BindingIdentifier(_))
                && declarator
                    .init
                    .as_ref()
                    .is_some_and(|init| !printing.may_be_null(init));
            self.bind(&declarator.id, sure);
            nodes.push(EjsNode::Quiet(format!(
                "@let({} = {value})",
                self.text(declarator.id.span())
            )));
        }
        Ok(nodes)
    }

    fn choice(&mut self, it: &IfStatement<'_>) -> ScriptResult<EjsIf> {
        let mut arms = vec![(self.value(&it.test)?, self.block(&it.consequent))];
        let mut otherwise = Vec::new();
        match &it.alternate {
            Some(Statement::IfStatement(inner)) => {
                let inner = self.choice(inner)?;
                arms.extend(inner.arms);
                otherwise = inner.otherwise;
            }
            Some(other) => otherwise = self.block(other),
            None => {}
        }
        Ok(EjsIf { arms, otherwise })
    }

    pub(super) fn block(&mut self, statement: &Statement<'_>) -> Vec<EjsNode> {
        self.statements(std::slice::from_ref(statement))
    }

    /// Remembers whether variables may be null.
    pub(super) fn bind(&mut self, pattern: &BindingPattern<'_>, sure: bool) {
        for id in pattern.get_binding_identifiers() {
            match sure {
                true => self.unsure.remove(id.name.as_str()),
                false => self.unsure.insert(id.name.to_string()),
            };
        }
    }

    pub(super) fn value(&self, expression: &Expression<'_>) -> ScriptResult<EjsPrint> {
        let code = self.text(expression.span());
        self.check(&code)?;
        Ok(EjsPrint {
            code,
            simple: print::is_simple(expression),
        })
    }

    /// Returns the text of a stretch, rewritten for templates.
    pub(super) fn text(&self, span: Span) -> String {
        let changes: Vec<&ScriptChange> = self.found.changes.iter().collect();
        rewritten(&self.script.text, span, &changes)
    }

    pub(super) fn check(&self, code: &str) -> ScriptResult<()> {
        if code.contains(MARK) {
            return Err(UnsupportedStatement("text inside an expression".to_owned()));
        }
        match expr::compile(code, &mut expr::NameScope::new()) {
            Ok(_) => Ok(()),
            Err(error) => Err(UnsupportedStatement(error.to_string())),
        }
    }

    pub(super) fn line(&self, span: Span) -> u32 {
        self.script.line(span.start, self.pieces)
    }

    /// Keeps the source as a comment, and warns about it.
    fn lost(&mut self, span: Span, why: &str) -> EjsNode {
        let (first, last) = (
            self.script.piece(span.start),
            self.script.piece(span.end.saturating_sub(1)),
        );
        let source: String = self
            .pieces
            .get(first..=last)
            .unwrap_or(&[])
            .iter()
            .map(|piece| piece.source.as_str())
            .collect();
        let shown = source.lines().next().unwrap_or("").trim();
        let message = format!("`{shown}` was not carried over: {why}; write this part by hand");
        self.warnings.push((self.line(span), message));
        EjsNode::Lost(source)
    }
}

/// Returns the index of the piece that a call marks.
fn marked(call: &CallExpression<'_>) -> Option<usize> {
    let Expression::Identifier(callee) = &call.callee else {
        return None;
    };
    let Some(Argument::NumericLiteral(index)) = call.arguments.first() else {
        return None;
    };
    (callee.name == MARK).then_some(index.value as usize)
}

fn name_of(statement: &Statement<'_>) -> &'static str {
    match statement {
        Statement::WhileStatement(_) | Statement::DoWhileStatement(_) => "`while`",
        Statement::SwitchStatement(_) => "`switch`",
        Statement::ReturnStatement(_) => "`return`",
        Statement::BreakStatement(_) | Statement::ContinueStatement(_) => "leaving a loop early",
        Statement::ThrowStatement(_) => "`throw` (use `@newError`)",
        Statement::TryStatement(_) => "`try`",
        _ => "this statement",
    }
}
