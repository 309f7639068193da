//! The tree an expression is lowered to: names resolved, methods looked up, constants folded in.

use std::cell::Cell;
use std::rc::Rc;

use crate::builtins::Method;
use crate::context::Context;
use crate::error::Error;
use crate::operators::{BinaryOperator, UnaryOperator};
use crate::regex::Regex;
use crate::scope::Slot;
use crate::value::{Frame, NativeFn, Value};

/// A compiled expression.
#[derive(Debug)]
pub struct Expr {
    pub(crate) node: Node,
    pub(crate) shape: Shape,
    pub(crate) has_closure: bool,
}

/// The kind of an expression's outermost node, as ESTree names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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

/// What a value is taken apart into: a name, an object pattern, an array pattern.
#[derive(Debug)]
pub struct Pattern(pub(crate) Target);

/// A node of the tree. Offsets are bytes into the expression's text, for errors.
#[derive(Debug)]
pub(crate) enum Node {
    Constant(Value),
    RegExp(Rc<Regex>),
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
    Array(Box<[Item]>),
    Object(Box<[Property]>),
    Arrow(Rc<Arrow>),
    Assign(Box<Assign>),
    Update(Box<Update>),
    Unary {
        operator: UnaryOperator,
        operand: Box<Node>,
        at: u32,
    },
    TypeOf(Box<Node>),
    Delete(Box<Target>),
    Binary(Box<Binary>),
    And(Box<[Node; 2]>),
    Or(Box<[Node; 2]>),
    Coalesce(Box<[Node; 2]>),
    Conditional(Box<[Node; 3]>),
    Sequence(Box<[Node]>),
    Member(Box<Member>),
    Index(Box<Index>),
    Call(Box<Call>),
    MethodCall(Box<MethodCall>),
    /// A call of a standard-library function that is known at compile time.
    NativeCall(Box<NativeCall>),
    New(Box<Call>),
    /// The outer end of an optional chain: where `?.` on nothing lands.
    Chain(Box<Node>),
}

#[derive(Debug)]
pub(crate) enum TemplatePart {
    Text(Rc<str>),
    Node(Node),
}

/// An element of an array or of an argument list.
#[derive(Debug)]
pub(crate) enum Item {
    One(Node),
    Spread(Node),
    Hole,
}

/// What a call hands over.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Literals, evaluated already.
    Known(Box<[Value]>),
    Computed(Box<[Item]>),
}

#[derive(Debug)]
pub(crate) enum Property {
    Named { key: Rc<str>, value: Node },
    Computed { key: Node, value: Node },
    Spread(Node),
}

/// An arrow function (or a function declared in an arrow's body).
#[derive(Debug)]
pub struct Arrow {
    pub(crate) parameters: Box<[Binding]>,
    pub(crate) rest: Option<Target>,
    pub(crate) body: Body,
    pub(crate) slots: usize,
    pub(crate) source: Rc<str>,
    pub(crate) name: Rc<str>,
}

#[derive(Debug)]
pub(crate) enum Body {
    Expression(Node),
    Statements(Box<[Statement]>),
}

#[derive(Debug)]
pub(crate) enum Statement {
    Expression(Node),
    Return(Node),
    Block(Box<[Statement]>),
    /// A function declaration, already hoisted to the front of its block.
    Function {
        slot: Slot,
        arrow: Rc<Arrow>,
    },
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) operator: Option<BinaryOperator>,
    pub(crate) target: Target,
    pub(crate) value: Node,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Update {
    pub(crate) target: Target,
    pub(crate) increment: bool,
    pub(crate) prefix: bool,
    pub(crate) at: u32,
}

/// Where an assignment puts its value.
#[derive(Debug)]
pub(crate) enum Target {
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
        object: Node,
        name: Rc<str>,
        at: u32,
    },
    Index {
        object: Node,
        index: Node,
        at: u32,
    },
    Object {
        properties: Box<[(Key, Binding)]>,
        rest: Option<Box<Target>>,
        at: u32,
    },
    Array {
        elements: Box<[Option<Binding>]>,
        rest: Option<Box<Target>>,
        at: u32,
    },
}

/// A target and the value it takes when given `undefined`.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) target: Target,
    pub(crate) default: Option<Node>,
}

#[derive(Debug)]
pub(crate) enum Key {
    Named(Rc<str>),
    Computed(Node),
}

#[derive(Debug)]
pub(crate) struct Binary {
    pub(crate) operator: BinaryOperator,
    pub(crate) left: Node,
    pub(crate) right: Node,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) object: Node,
    pub(crate) name: Rc<str>,
    /// Where the property stood in the object last seen, since the next one is often alike.
    pub(crate) seen: Cell<usize>,
    pub(crate) optional: bool,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) object: Node,
    pub(crate) index: Node,
    pub(crate) optional: bool,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) callee: Node,
    pub(crate) arguments: Arguments,
    pub(crate) optional: bool,
    /// The callee as written, for `x is not a function`.
    pub(crate) text: Rc<str>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) struct MethodCall {
    pub(crate) object: Node,
    pub(crate) name: MethodName,
    /// `object?.name()`
    pub(crate) optional_object: bool,
    /// `object.name?.()`
    pub(crate) optional_call: bool,
    pub(crate) arguments: Arguments,
    pub(crate) text: Rc<str>,
    pub(crate) at: u32,
}

#[derive(Debug)]
pub(crate) enum MethodName {
    Named {
        name: Rc<str>,
        method: Option<Method>,
    },
    Computed(Node),
}

pub(crate) struct NativeCall {
    pub(crate) function: NativeFn,
    pub(crate) arguments: Arguments,
    pub(crate) at: u32,
}

impl std::fmt::Debug for NativeCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NativeCall({:?})", self.arguments)
    }
}

impl Expr {
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether the expression creates functions, which may outlive the block they stand in.
    pub fn has_closure(&self) -> bool {
        self.has_closure
    }

    /// Evaluates to a value.
    pub fn eval(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<Value, Error> {
        self.node.eval(cx, frame)
    }

    /// Appends the value's text to `out`.
    pub fn emit(
        &self,
        cx: &mut Context<'_>,
        frame: &Rc<Frame>,
        out: &mut String,
    ) -> Result<(), Error> {
        self.node.emit(cx, frame, out)
    }

    /// Evaluates to a truth value.
    pub fn test(&self, cx: &mut Context<'_>, frame: &Rc<Frame>) -> Result<bool, Error> {
        self.node.test(cx, frame)
    }
}

impl Pattern {
    /// Takes `value` apart into the pattern's variables.
    pub fn bind(&self, cx: &mut Context<'_>, frame: &Rc<Frame>, value: Value) -> Result<(), Error> {
        self.0.assign(cx, frame, value)
    }
}

impl Shape {
    /// The ESTree name, as error messages print it.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Array => "ArrayExpression",
            Shape::Arrow => "ArrowFunctionExpression",
            Shape::Assignment => "AssignmentExpression",
            Shape::Await => "AwaitExpression",
            Shape::Binary => "BinaryExpression",
            Shape::Call => "CallExpression",
            Shape::Chain => "ChainExpression",
            Shape::Conditional => "ConditionalExpression",
            Shape::Identifier => "Identifier",
            Shape::Literal => "Literal",
            Shape::Logical => "LogicalExpression",
            Shape::Member => "MemberExpression",
            Shape::New => "NewExpression",
            Shape::Object => "ObjectExpression",
            Shape::Sequence => "SequenceExpression",
            Shape::TemplateLiteral => "TemplateLiteral",
            Shape::This => "ThisExpression",
            Shape::Unary => "UnaryExpression",
            Shape::Update => "UpdateExpression",
        }
    }
}
