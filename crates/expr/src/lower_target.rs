//! Lowers what stands left of `=`: names, members, patterns, parameters.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty,
    BindingPattern, Expression, FormalParameters, PropertyKey, SimpleAssignmentTarget,
    UpdateExpression,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{AssignmentOperator, UpdateOperator};

use crate::error::{Code, Error};
use crate::estree::binary_operator;
use crate::ir::{Assign, Binding, Key, Node, Target, Update};
use crate::lower::{Lowering, static_key, unallowed};
use crate::scope::Resolved;

impl Lowering<'_, '_> {
    pub(crate) fn assignment(
        &mut self,
        assignment: &AssignmentExpression<'_>,
    ) -> Result<Node, Error> {
        let operator = match assignment.operator {
            AssignmentOperator::Assign => None,
            logical if logical.is_logical() => {
                let message = format!("\"{}\" is not supported; write it out", logical.as_str());
                return Err(Error::new(Code::Parser, message).at(assignment.span.start));
            }
            arithmetic => match arithmetic.to_binary_operator() {
                Some(operator) => Some(binary_operator(operator)),
                None => return Err(unallowed("AssignmentExpression", assignment.span)),
            },
        };
        Ok(Node::Assign(Box::new(Assign {
            operator,
            target: self.target(&assignment.left)?,
            value: self.node(&assignment.right)?,
            at: self.at(assignment.span.start),
        })))
    }

    pub(crate) fn update(&mut self, update: &UpdateExpression<'_>) -> Result<Node, Error> {
        Ok(Node::Update(Box::new(Update {
            target: self.simple_target(&update.argument)?,
            increment: update.operator == UpdateOperator::Increment,
            prefix: update.prefix,
            at: self.at(update.span.start),
        })))
    }

    pub(crate) fn delete(&mut self, argument: &Expression<'_>) -> Result<Node, Error> {
        let target = match self.node(argument)? {
            Node::Member(member) => Target::Member {
                object: member.object,
                name: member.name,
                at: member.at,
            },
            Node::Index(index) => Target::Index {
                object: index.object,
                index: index.index,
                at: index.at,
            },
            Node::State { name, .. } => Target::State { name },
            Node::Variable { hops, slot } => Target::Variable { hops, slot },
            _ => return Err(unallowed("delete", argument.span())),
        };
        Ok(Node::Delete(Box::new(target)))
    }

    pub(crate) fn target(&mut self, target: &AssignmentTarget<'_>) -> Result<Target, Error> {
        match target {
            AssignmentTarget::ArrayAssignmentTarget(array) => {
                let elements = array
                    .elements
                    .iter()
                    .map(|element| element.as_ref().map(|e| self.maybe_default(e)).transpose())
                    .collect::<Result<_, _>>()?;
                let rest = array
                    .rest
                    .as_ref()
                    .map(|rest| self.target(&rest.target))
                    .transpose()?;
                Ok(Target::Array {
                    elements,
                    rest: rest.map(Box::new),
                    at: self.at(array.span.start),
                })
            }
            AssignmentTarget::ObjectAssignmentTarget(object) => {
                let properties = object
                    .properties
                    .iter()
                    .map(|property| self.target_property(property))
                    .collect::<Result<_, _>>()?;
                let rest = object
                    .rest
                    .as_ref()
                    .map(|rest| self.target(&rest.target))
                    .transpose()?;
                Ok(Target::Object {
                    properties,
                    rest: rest.map(Box::new),
                    at: self.at(object.span.start),
                })
            }
            other => match other.as_simple_assignment_target() {
                Some(simple) => self.simple_target(simple),
                None => Err(unallowed("AssignmentTarget", other.span())),
            },
        }
    }

    fn simple_target(&mut self, target: &SimpleAssignmentTarget<'_>) -> Result<Target, Error> {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) => {
                Ok(self.named_target(identifier.name.as_str(), self.at(identifier.span.start)))
            }
            other => match other.as_member_expression() {
                Some(member) => match self.member(member)? {
                    Node::Member(member) => Ok(Target::Member {
                        object: member.object,
                        name: member.name,
                        at: member.at,
                    }),
                    Node::Index(index) => Ok(Target::Index {
                        object: index.object,
                        index: index.index,
                        at: index.at,
                    }),
                    _ => {
                        Err(Error::new(Code::Parser, "Assigning to rvalue").at(other.span().start))
                    }
                },
                None => Err(unallowed("AssignmentTarget", other.span())),
            },
        }
    }

    fn named_target(&mut self, name: &str, at: u32) -> Target {
        if self.declaring {
            return Target::Variable {
                hops: 0,
                slot: self.scope.declare(name),
            };
        }
        match self.scope.resolve(name) {
            Resolved::Variable { hops, slot } => Target::Variable { hops, slot },
            Resolved::Ended => Target::Ended {
                name: name.into(),
                at,
            },
            Resolved::State => Target::State { name: name.into() },
        }
    }

    fn target_property(
        &mut self,
        property: &AssignmentTargetProperty<'_>,
    ) -> Result<(Key, Binding), Error> {
        match property {
            AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(property) => {
                let name = property.binding.name.as_str();
                let default = self.default(property.init.as_ref())?;
                let target = self.named_target(name, self.at(property.span.start));
                Ok((Key::Named(name.into()), Binding { target, default }))
            }
            AssignmentTargetProperty::AssignmentTargetPropertyProperty(property) => {
                let key = self.key(&property.name, property.computed)?;
                Ok((key, self.maybe_default(&property.binding)?))
            }
        }
    }

    fn maybe_default(
        &mut self,
        target: &AssignmentTargetMaybeDefault<'_>,
    ) -> Result<Binding, Error> {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(with) => {
                let default = self.default(Some(&with.init))?;
                Ok(Binding {
                    target: self.target(&with.binding)?,
                    default,
                })
            }
            other => match other.as_assignment_target() {
                Some(target) => Ok(Binding {
                    target: self.target(target)?,
                    default: None,
                }),
                None => Err(unallowed("AssignmentTarget", other.span())),
            },
        }
    }

    pub(crate) fn parameters(
        &mut self,
        parameters: &FormalParameters<'_>,
    ) -> Result<(Box<[Binding]>, Option<Target>), Error> {
        let mut bindings = Vec::with_capacity(parameters.items.len());
        for parameter in &parameters.items {
            let default = self.default(parameter.initializer.as_deref())?;
            let Binding {
                target,
                default: inner,
            } = self.pattern(&parameter.pattern)?;
            bindings.push(Binding {
                target,
                default: default.or(inner),
            });
        }
        let rest = match &parameters.rest {
            Some(rest) => Some(self.pattern(&rest.rest.argument)?.target),
            None => None,
        };
        Ok((bindings.into(), rest))
    }

    fn pattern(&mut self, pattern: &BindingPattern<'_>) -> Result<Binding, Error> {
        let target = match pattern {
            BindingPattern::BindingIdentifier(identifier) => Target::Variable {
                hops: 0,
                slot: self.scope.declare(identifier.name.as_str()),
            },
            BindingPattern::ObjectPattern(object) => {
                let mut properties = Vec::with_capacity(object.properties.len());
                for property in &object.properties {
                    let key = self.key(&property.key, property.computed)?;
                    properties.push((key, self.pattern(&property.value)?));
                }
                let rest = object.rest.as_ref();
                let rest = rest.map(|rest| self.pattern(&rest.argument)).transpose()?;
                Target::Object {
                    properties: properties.into(),
                    rest: rest.map(|binding| Box::new(binding.target)),
                    at: self.at(object.span.start),
                }
            }
            BindingPattern::ArrayPattern(array) => {
                let mut elements = Vec::with_capacity(array.elements.len());
                for element in &array.elements {
                    elements.push(element.as_ref().map(|e| self.pattern(e)).transpose()?);
                }
                let rest = array.rest.as_ref();
                let rest = rest.map(|rest| self.pattern(&rest.argument)).transpose()?;
                Target::Array {
                    elements: elements.into(),
                    rest: rest.map(|binding| Box::new(binding.target)),
                    at: self.at(array.span.start),
                }
            }
            BindingPattern::AssignmentPattern(with) => {
                let default = self.default(Some(&with.right))?;
                return Ok(Binding {
                    target: self.pattern(&with.left)?.target,
                    default,
                });
            }
        };
        Ok(Binding {
            target,
            default: None,
        })
    }

    fn key(&mut self, key: &PropertyKey<'_>, computed: bool) -> Result<Key, Error> {
        match static_key(key) {
            Some(name) if !computed => Ok(Key::Named(name)),
            _ => match key.as_expression() {
                Some(expression) => self.reading(|l| l.node(expression)).map(Key::Computed),
                None => Err(unallowed("PrivateIdentifier", key.span())),
            },
        }
    }

    fn default(&mut self, init: Option<&Expression<'_>>) -> Result<Option<Node>, Error> {
        init.map(|init| self.reading(|lowering| lowering.node(init)))
            .transpose()
    }

    /// Inside a declaration, lowers a part that only reads names.
    fn reading<R>(&mut self, lower: impl FnOnce(&mut Self) -> R) -> R {
        let declaring = std::mem::replace(&mut self.declaring, false);
        let result = lower(self);
        self.declaring = declaring;
        result
    }
}
