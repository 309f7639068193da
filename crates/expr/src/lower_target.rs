//! Lowers the left side of `=`: names, members, patterns, parameters.

use oxc_ast::ast::{
    AssignmentExpression, AssignmentTarget, AssignmentTargetMaybeDefault, AssignmentTargetProperty,
    BindingPattern, Expression, FormalParameters, PropertyKey, SimpleAssignmentTarget,
    UpdateExpression,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{AssignmentOperator, UpdateOperator};

use crate::error::{Error, ExprErrorCode};
use crate::estree::binary_operator;
use crate::ir::{AssignNode, AssignTarget, BindingNode, ExprNode, MemberKey, UpdateNode};
use crate::lower::{ExprLowering, static_key, unallowed};
use crate::scope::ResolvedName;

impl ExprLowering<'_, '_> {
    pub(crate) fn assignment(
        &mut self,
        assignment: &AssignmentExpression<'_>,
    ) -> Result<ExprNode, Error> {
        let operator = match assignment.operator {
            AssignmentOperator::Assign => None,
            logical if logical.is_logical() => {
                let message = format!("\"{}\" is not supported; write it out", logical.as_str());
                return Err(Error::new(ExprErrorCode::Parser, message).at(assignment.span.start));
            }
            arithmetic => match arithmetic.to_binary_operator() {
                Some(operator) => Some(binary_operator(operator)),
                None => return Err(unallowed("AssignmentExpression", assignment.span)),
            },
        };
        Ok(ExprNode::Assign(Box::new(AssignNode {
            operator,
            target: self.target(&assignment.left)?,
            value: self.node(&assignment.right)?,
            at: self.at(assignment.span.start),
        })))
    }

    pub(crate) fn update(&mut self, update: &UpdateExpression<'_>) -> Result<ExprNode, Error> {
        Ok(ExprNode::Update(Box::new(UpdateNode {
            target: self.simple_target(&update.argument)?,
            increment: update.operator == UpdateOperator::Increment,
            prefix: update.prefix,
            at: self.at(update.span.start),
        })))
    }

    pub(crate) fn delete(&mut self, argument: &Expression<'_>) -> Result<ExprNode, Error> {
        let target = match self.node(argument)? {
            ExprNode::Member(member) => AssignTarget::Member {
                object: member.object,
                name: member.name,
                at: member.at,
            },
            ExprNode::Index(index) => AssignTarget::Index {
                object: index.object,
                index: index.index,
                at: index.at,
            },
            ExprNode::State { name, .. } => AssignTarget::State { name },
            ExprNode::Variable { hops, slot } => AssignTarget::Variable { hops, slot },
            _ => return Err(unallowed("delete", argument.span())),
        };
        Ok(ExprNode::Delete(Box::new(target)))
    }

    pub(crate) fn target(&mut self, target: &AssignmentTarget<'_>) -> Result<AssignTarget, Error> {
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
                Ok(AssignTarget::Array {
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
                Ok(AssignTarget::Object {
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

    fn simple_target(
        &mut self,
        target: &SimpleAssignmentTarget<'_>,
    ) -> Result<AssignTarget, Error> {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(identifier) => {
                Ok(self.named_target(identifier.name.as_str(), self.at(identifier.span.start)))
            }
            other => match other.as_member_expression() {
                Some(member) => match self.member(member)? {
                    ExprNode::Member(member) => Ok(AssignTarget::Member {
                        object: member.object,
                        name: member.name,
                        at: member.at,
                    }),
                    ExprNode::Index(index) => Ok(AssignTarget::Index {
                        object: index.object,
                        index: index.index,
                        at: index.at,
                    }),
                    _ => Err(Error::new(ExprErrorCode::Parser, "Assigning to rvalue")
                        .at(other.span().start)),
                },
                None => Err(unallowed("AssignmentTarget", other.span())),
            },
        }
    }

    fn named_target(&mut self, name: &str, at: u32) -> AssignTarget {
        if self.declaring {
            return AssignTarget::Variable {
                hops: 0,
                slot: self.scope.declare(name),
            };
        }
        match self.scope.resolve(name) {
            ResolvedName::Variable { hops, slot } => AssignTarget::Variable { hops, slot },
            ResolvedName::Ended => AssignTarget::Ended {
                name: name.into(),
                at,
            },
            ResolvedName::State => AssignTarget::State { name: name.into() },
        }
    }

    fn target_property(
        &mut self,
        property: &AssignmentTargetProperty<'_>,
    ) -> Result<(MemberKey, BindingNode), Error> {
        match property {
            AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(property) => {
                let name = property.binding.name.as_str();
                let default = self.default(property.init.as_ref())?;
                let target = self.named_target(name, self.at(property.span.start));
                Ok((
                    MemberKey::Named(name.into()),
                    BindingNode { target, default },
                ))
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
    ) -> Result<BindingNode, Error> {
        match target {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(with) => {
                let default = self.default(Some(&with.init))?;
                Ok(BindingNode {
                    target: self.target(&with.binding)?,
                    default,
                })
            }
            other => match other.as_assignment_target() {
                Some(target) => Ok(BindingNode {
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
    ) -> Result<(Box<[BindingNode]>, Option<AssignTarget>), Error> {
        let mut bindings = Vec::with_capacity(parameters.items.len());
        for parameter in &parameters.items {
            let default = self.default(parameter.initializer.as_deref())?;
            let BindingNode {
                target,
                default: inner,
            } = self.pattern(&parameter.pattern)?;
            bindings.push(BindingNode {
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

    fn pattern(&mut self, pattern: &BindingPattern<'_>) -> Result<BindingNode, Error> {
        let target = match pattern {
            BindingPattern::BindingIdentifier(identifier) => AssignTarget::Variable {
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
                AssignTarget::Object {
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
                AssignTarget::Array {
                    elements: elements.into(),
                    rest: rest.map(|binding| Box::new(binding.target)),
                    at: self.at(array.span.start),
                }
            }
            BindingPattern::AssignmentPattern(with) => {
                let default = self.default(Some(&with.right))?;
                return Ok(BindingNode {
                    target: self.pattern(&with.left)?.target,
                    default,
                });
            }
        };
        Ok(BindingNode {
            target,
            default: None,
        })
    }

    fn key(&mut self, key: &PropertyKey<'_>, computed: bool) -> Result<MemberKey, Error> {
        match static_key(key) {
            Some(name) if !computed => Ok(MemberKey::Named(name)),
            _ => match key.as_expression() {
                Some(expression) => self
                    .reading(|l| l.node(expression))
                    .map(MemberKey::Computed),
                None => Err(unallowed("PrivateIdentifier", key.span())),
            },
        }
    }

    fn default(&mut self, init: Option<&Expression<'_>>) -> Result<Option<ExprNode>, Error> {
        init.map(|init| self.reading(|lowering| lowering.node(init)))
            .transpose()
    }

    /// Lowers a part that only reads names, inside a declaration.
    fn reading<R>(&mut self, lower: impl FnOnce(&mut Self) -> R) -> R {
        let declaring = std::mem::replace(&mut self.declaring, false);
        let result = lower(self);
        self.declaring = declaring;
        result
    }
}
