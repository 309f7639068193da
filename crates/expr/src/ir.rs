//! The tree an expression is lowered to: names resolved, methods looked up, constants folded in.

use std::cell::Cell;
use std::rc::Rc;

use crate::builtins::BuiltinMethod;
use crate::context::EvalContext;
use crate::error::Error;
use crate::operators::{BinaryOperator, UnaryOperator};
use crate::regex::JsRegex;
use crate::scope::Slot;
use crate::value::{Frame, NativeFn, Value};

/// A compiled expression.
#[derive(Debug)]
pub struct Expr {
    pub(crate) node: ExprNode,
    pub(crate) shape: ExprKind,
}

/// The kind of an expression's outermost node, as ESTree names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExprKind {
    Array,
    Arrow,
    Assignment,
    Await,
    Binary,
    Call,
    Chain,
    Conditional,
    Identifier,
    Literal,
    Logical,
    Member,
    New,
    Object,
    Sequence,
    TemplateLiteral,
    This,
    Unary,
    Update,
}

/// The left side of a destructuring: a name, an object pattern, an array pattern.
#[derive(Debug)]
pub struct DestructurePattern(pub(crate) AssignTarget);

/// A node of the tree. Offsets are bytes into the expression's text, for errors.
#[derive(Debug)]
pub(crate) enum ExprNode {
    Constant(Value),
    RegExp(Rc<JsRegex>),
    Variable {
        hops: u16,
        slot: Slot,
    },
    /// A variable whose block has ended.
    Ended {
        name: Rc<str>,
        at: u32,
    },
    State {
        name: Rc<str>,
        at: u32,
    },
    StateObject,
    This,
    Template(Box<[TemplatePart]>),
    Array(Box<[ElementNode]>),
    Object(Box<[PropertyNode]>),
    Arrow(Rc<ArrowFunction>),
    Assign(Box<AssignNode>),
    Update(Box<UpdateNode>),
    Unary {
        operator: UnaryOperator,
        operand: Box<ExprNode>,
        at: u32,
    },
    TypeOf(Box<ExprNode>),
    Delete(Box<AssignTarget>),
    Binary(Box<BinaryNode>),
    And(Box<[ExprNode; 2]>),
    Or(Box<[ExprNode; 2]>),
    Coalesce(Box<[ExprNode; 2]>),
    Conditional(Box<[ExprNode; 3]>),
    Sequence(Box<[ExprNode]>),
    Member(Box<MemberNode>),
    Index(Box<IndexNode>),
    Call(Box<CallNode>),
    MethodCall(Box<MethodCall>),
    /// A call of a standard-library function that is known at compile time.
    NativeCall(Box<NativeCall>),
    New(Box<CallNode>),
    /// The outer end of an optional chain: where `?.` on nothing lands.
    Chain(Box<ExprNode>),
}

#[derive(Debug)]
pub(crate) enum TemplatePart {
    Text(Rc<str>),
    Node(ExprNode),
}

/// An element of an array or of an argument list.
#[derive(Debug)]
pub(crate) enum ElementNode {
    One(ExprNode),
    Spread(ExprNode),
    Hole,
}

/// The arguments of a call.
#[derive(Debug)]
pub(crate) enum ArgumentList {
    /// Literals, evaluated already.
    Known(Box<[Value]>),
    Computed(Box<[ElementNode]>),
}

#[derive(Debug)]
pub(crate) enum PropertyNode {
    Named { key: Rc<str>, value: ExprNode },
    Computed { key: ExprNode, value: ExprNode },
    Spread(ExprNode),
}

/// An arrow function (or a function declared in an arrow's body).
#[derive(Debug)]
pub struct ArrowFunction {
    pub(crate) parameters: Box<[BindingNode]>,
    pub(crate) rest: Option<AssignTarget>,
    pub(crate) body: ArrowBody,
    pub(crate) slots: usize,
    pub(crate) source: Rc<str>,
    pub(crate) name: Rc<str>,
}

#[derive(Debug)]
pub(crate) enum ArrowBody {
    Expression(ExprNode),
    Statements(Box<[StatementNode]>),
}

#[derive(Debug)]
pub(crate) enum StatementNode {
    Expression(ExprNode),
    Return(ExprNode),
    Block(Box<[StatementNode]>),
    /// A function declaration, already hoisted to the front of its block.
    Function {
        slot: Slot,
        arrow: Rc<ArrowFunction>,
    },
}

#[derive(Debug)]
pub(crate) struct AssignNode {
    pub(crate) operator: Option<BinaryOperator>,
    pub(crate) target: AssignTarget,
    pub(crate) value: ExprNode,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct UpdateNode {
    pub(crate) target: AssignTarget,
    pub(crate) increment: bool,
    pub(crate) prefix: bool,
    pub(crate) at: u32,
}

/// The target of an assignment.
#[derive(Debug)]
pub(crate) enum AssignTarget {
    Variable {
        hops: u16,
        slot: Slot,
    },
    Ended {
        name: Rc<str>,
        at: u32,
    },
    State {
        name: Rc<str>,
    },
    Member {
        object: ExprNode,
        name: Rc<str>,
        at: u32,
    },
    Index {
        object: ExprNode,
        index: ExprNode,
        at: u32,
    },
    Object {
        properties: Box<[(MemberKey, BindingNode)]>,
        rest: Option<Box<AssignTarget>>,
        at: u32,
    },
    Array {
        elements: Box<[Option<BindingNode>]>,
        rest: Option<Box<AssignTarget>>,
        at: u32,
    },
}

/// A target and the value it takes when given `undefined`.
#[derive(Debug)]
pub(crate) struct BindingNode {
    pub(crate) target: AssignTarget,
    pub(crate) default: Option<ExprNode>,
}

#[derive(Debug)]
pub(crate) enum MemberKey {
    Named(Rc<str>),
    Computed(ExprNode),
}

#[derive(Debug)]
pub(crate) struct BinaryNode {
    pub(crate) operator: BinaryOperator,
    pub(crate) left: ExprNode,
    pub(crate) right: ExprNode,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct MemberNode {
    pub(crate) object: ExprNode,
    pub(crate) name: Rc<str>,
    /// Index of the property in the last object seen, tried first because the next object often has
    /// the same layout.
    pub(crate) seen: Cell<usize>,
    pub(crate) optional: bool,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct IndexNode {
    pub(crate) object: ExprNode,
    pub(crate) index: ExprNode,
    pub(crate) optional: bool,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct CallNode {
    pub(crate) callee: ExprNode,
    pub(crate) arguments: ArgumentList,
    pub(crate) optional: bool,
    /// The callee as written, for `x is not a function`.
    pub(crate) text: Rc<str>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct MethodCall {
    pub(crate) object: ExprNode,
    pub(crate) name: MethodName,
    /// `object?.name()`
    pub(crate) optional_object: bool,
    /// `object.name?.()`
    pub(crate) optional_call: bool,
    pub(crate) arguments: ArgumentList,
    pub(crate) text: Rc<str>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) enum MethodName {
    Named {
        name: Rc<str>,
        method: Option<BuiltinMethod>,
    },
    Computed(ExprNode),
}

pub(crate) struct NativeCall {
    pub(crate) function: NativeFn,
    pub(crate) arguments: ArgumentList,
    pub(crate) at: u32,
}

impl std::fmt::Debug for NativeCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NativeCall({:?})", self.arguments)
    }
}

impl Expr {
    pub fn shape(&self) -> ExprKind {
        self.shape
    }

    /// Evaluates to a value.
    pub fn eval(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        self.node.eval(cx, frame)
    }

    /// Appends the value's text to `out`.
    pub fn emit(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        out: &mut String,
    ) -> Result<(), Error> {
        self.node.emit(cx, frame, out)
    }

    /// Evaluates to a truth value.
    pub fn test(&self, cx: &mut EvalContext<'_>, frame: &Rc<Frame>) -> Result<bool, Error> {
        self.node.test(cx, frame)
    }
}

impl DestructurePattern {
    /// Takes `value` apart into the pattern's variables.
    pub fn bind(
        &self,
        cx: &mut EvalContext<'_>,
        frame: &Rc<Frame>,
        value: Value,
    ) -> Result<(), Error> {
        self.0.assign(cx, frame, value)
    }
}

impl ExprKind {
    /// Returns the ESTree name, as error messages print it.
    pub fn name(self) -> &'static str {
        match self {
            ExprKind::Array => "ArrayExpression",
            ExprKind::Arrow => "ArrowFunctionExpression",
            ExprKind::Assignment => "AssignmentExpression",
            ExprKind::Await => "AwaitExpression",
            ExprKind::Binary => "BinaryExpression",
            ExprKind::Call => "CallExpression",
            ExprKind::Chain => "ChainExpression",
            ExprKind::Conditional => "ConditionalExpression",
            ExprKind::Identifier => "Identifier",
            ExprKind::Literal => "Literal",
            ExprKind::Logical => "LogicalExpression",
            ExprKind::Member => "MemberExpression",
            ExprKind::New => "NewExpression",
            ExprKind::Object => "ObjectExpression",
            ExprKind::Sequence => "SequenceExpression",
            ExprKind::TemplateLiteral => "TemplateLiteral",
            ExprKind::This => "ThisExpression",
            ExprKind::Unary => "UnaryExpression",
            ExprKind::Update => "UpdateExpression",
        }
    }
}
