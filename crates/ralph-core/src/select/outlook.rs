//! What a plan shows of itself: what comes after the next task, and how the leaves below one stand.
//! Changes nothing, and costs no more than what is asked for.

use super::{Counts, Plan};
use crate::task::{Status, TaskId};

impl Plan {
    /// The ready leaves in their order, the area of the last completed task aside.
    pub fn ready(&self) -> impl Iterator<Item = &TaskId> {
        self.queue.ready().map(|node| self.shape.id(node))
    }

    /// The leaves in scope that count as this, in their order.
    pub fn counted_as(&self, status: Status) -> impl Iterator<Item = &TaskId> {
        self.queue
            .in_order()
            .filter(move |node| self.seen[node.at()].is_some_and(|seen| seen.status == status))
            .map(|node| self.shape.id(node))
    }

    /// How the leaves in scope below a task stand; of a leaf, how it stands itself.
    pub fn counts_below(&self, id: &TaskId) -> Counts {
        let mut counts = Counts::default();
        let Some(top) = self.shape.node(id) else {
            return counts;
        };
        let below = self.shape.descendants(top).iter().copied();
        for node in std::iter::once(top).chain(below) {
            if let Some(seen) = self.seen[node.at()] {
                counts.add(seen);
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::graph::Graph;

    fn plan(tasks: &str) -> Plan {
        let document = crate::task::format::parse("tasks.json", 0, tasks.as_bytes()).unwrap();
        let (graph, _) = Graph::build(document.tasks);
        Plan::of_all(&graph)
    }

    #[test]
    fn ready_leaves_come_in_the_order_of_the_plan_and_counts_are_those_below() {
        let plan = plan(
            r#"[{"id":"F","title":"f"},{"id":"A","title":"a","parentId":"F","priority":2},
                {"id":"B","title":"b","parentId":"F","priority":1},
                {"id":"C","title":"c","parentId":"F","status":"completed"},
                {"id":"D","title":"d","dependsOn":["A"]}]"#,
        );
        let ready: Vec<&str> = plan.ready().map(TaskId::as_str).collect();
        assert_eq!(ready, ["B", "A"]);
        let done: Vec<&TaskId> = plan.counted_as(Status::Completed).collect();
        assert_eq!(done, [&TaskId::parse("C").unwrap()]);
        let below = plan.counts_below(&TaskId::parse("F").unwrap());
        assert_eq!((below.total, below.completed, below.ready), (3, 1, 2));
        let itself = plan.counts_below(&TaskId::parse("D").unwrap());
        assert_eq!((itself.total, itself.waiting), (1, 1));
        let unknown = plan.counts_below(&TaskId::parse("X").unwrap());
        assert_eq!(unknown.total, 0);
    }
}
