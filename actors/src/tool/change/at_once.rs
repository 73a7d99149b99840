//! A change without an approval.

use crate::reply::Object;
use crate::tool::{EffectError, Tool, ToolContext, ToolFuture};

/// How often a change is planned again whose file changes meanwhile.
const MAX_PLANS: usize = 3;

/// Plans a change and makes it, without an approval: for programs that let a tool do what it wants.
pub(in crate::tool) fn carry_out_at_once<T: Tool>(
    tool: &T,
    input: Object,
    context: ToolContext,
) -> ToolFuture<'_> {
    Box::pin(async move {
        for _ in 0..MAX_PLANS {
            let Some(planned) = tool.plan(input.clone(), context.clone()).await? else {
                return Err("there is nothing to change".into());
            };
            match planned.carry_out().await {
                Ok(done) => return Ok(done.result),
                Err(EffectError::Failed(error)) => return Err(error),
                Err(EffectError::Changed) => {}
            }
        }
        Err("the file changes again and again; nothing was done".into())
    })
}
