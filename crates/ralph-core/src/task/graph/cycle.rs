//! Circles: tasks that are each other's parents, and tasks that wait for each other.
//!
//! Waiting is more than `dependsOn`. A task can't start before its container's dependencies are
//! complete, and a container isn't complete before all its tasks are. So each task is two points in
//! time, its start and its end, and a circle through those points is a deadlock, also where no task
//! names another one that names it back. Linear in tasks and links; must not recurse.

use super::shape::Node;
use super::shape::Shape;

/// The circles of parents, each beginning with its first node, in the order of first nodes.
pub(super) fn parent_cycles(parent: &[Option<Node>]) -> Vec<Vec<Node>> {
    // The walk in which each node was met, from 1; 0 is not met yet.
    let mut met_in = vec![0_u32; parent.len()];
    let mut cycles = Vec::new();
    for from in 0..parent.len() {
        let walk = from as u32 + 1;
        let mut at = Some(Node::new(from));
        while let Some(node) = at
            && met_in[node.at()] == 0
        {
            met_in[node.at()] = walk;
            at = parent[node.at()];
        }
        let Some(node) = at else { continue };
        if met_in[node.at()] != walk {
            continue;
        }
        let rest = std::iter::successors(parent[node.at()], |next| parent[next.at()])
            .take_while(|next| *next != node);
        cycles.push(first_in_front(std::iter::once(node).chain(rest).collect()));
    }
    cycles.sort();
    cycles
}

/// One circle for each group of tasks that wait for each other, in the order of first nodes. A
/// dependency on the task itself, on a container of it or on a part of it is left to the caller.
pub(super) fn waiting_cycles(shape: &Shape) -> Vec<Vec<Node>> {
    if only_looks_back(shape) {
        return Vec::new();
    }
    let points = Points { shape };
    let mut cycles: Vec<Vec<Node>> = components(&points)
        .into_iter()
        .map(|component| first_in_front(tasks_of(&shortest_circle(&points, &component))))
        .collect();
    cycles.sort();
    cycles
}

/// Returns true if there are no containers, and each task waits only for tasks before it. Most files are
/// written so, and then there is nothing to search.
fn only_looks_back(shape: &Shape) -> bool {
    shape.nodes().all(|node| {
        let mut depends = shape.depends(node).iter();
        shape.parent(node).is_none() && depends.all(|on| *on <= node)
    })
}

fn first_in_front(mut circle: Vec<Node>) -> Vec<Node> {
    let first = (0..circle.len())
        .min_by_key(|at| circle[*at])
        .unwrap_or_default();
    circle.rotate_left(first);
    circle
}

/// The start of a task is `2 × node`, its end `2 × node + 1`.
type Point = usize;

fn node_of(point: Point) -> Node {
    Node::new(point / 2)
}

fn is_end(point: Point) -> bool {
    point % 2 == 1
}

fn start_of(node: Node) -> Point {
    2 * node.at()
}

fn end_of(node: Node) -> Point {
    2 * node.at() + 1
}

struct Points<'s> {
    shape: &'s Shape,
}

impl Points<'_> {
    fn len(&self) -> usize {
        2 * self.shape.len()
    }

    /// Returns how many points `after` may be asked for.
    fn count_after(&self, point: Point) -> usize {
        let node = node_of(point);
        if is_end(point) {
            self.shape.children(node).len().max(1)
        } else {
            1 + self.shape.depends(node).len()
        }
    }

    /// The `at`-th point that has to come before this one.
    fn after(&self, point: Point, at: usize) -> Option<Point> {
        let node = node_of(point);
        if is_end(point) {
            return match self.shape.children(node).get(at) {
                Some(child) => Some(end_of(*child)),
                None => Some(start_of(node)),
            };
        }
        let Some(dependency) = at.checked_sub(1) else {
            return self.shape.parent(node).map(start_of);
        };
        let on = self.shape.depends(node)[dependency];
        let related = self.shape.is_within(node, on) || self.shape.is_within(on, node);
        (!related).then(|| end_of(on))
    }
}

/// The groups of more than one point in which each can be reached from each: Tarjan's algorithm
/// with its own stack.
fn components(points: &Points<'_>) -> Vec<Vec<Point>> {
    const UNSEEN: u32 = u32::MAX;
    let mut found = Vec::new();
    let mut number = vec![UNSEEN; points.len()];
    let mut low = vec![0_u32; points.len()];
    let mut is_open = vec![false; points.len()];
    let mut open: Vec<Point> = Vec::new();
    let mut path: Vec<(Point, usize)> = Vec::new();
    let mut next = 0_u32;
    for root in 0..points.len() {
        if number[root] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some((point, at)) = path.last_mut() {
            let point = *point;
            if *at == 0 {
                number[point] = next;
                low[point] = next;
                next += 1;
                is_open[point] = true;
                open.push(point);
            }
            if *at < points.count_after(point) {
                let after = points.after(point, *at);
                *at += 1;
                match after {
                    Some(after) if number[after] == UNSEEN => path.push((after, 0)),
                    Some(after) if is_open[after] => low[point] = low[point].min(number[after]),
                    Some(_) | None => {}
                }
                continue;
            }
            path.pop();
            if let Some((before, _)) = path.last() {
                low[*before] = low[*before].min(low[point]);
            }
            if low[point] == number[point] {
                let from = open.iter().rposition(|other| *other == point);
                let component = open.split_off(from.unwrap_or_default());
                for member in &component {
                    is_open[*member] = false;
                }
                if component.len() > 1 {
                    found.push(component);
                }
            }
        }
    }
    found
}

/// A shortest circle through the first point of a component: each point once, in walking order.
fn shortest_circle(points: &Points<'_>, component: &[Point]) -> Vec<Point> {
    let mut sorted = component.to_vec();
    sorted.sort_unstable();
    let goal = sorted[0];
    // Where the search came from, by the position in `sorted`.
    let mut came_from: Vec<Option<Point>> = vec![None; sorted.len()];
    let mut queue = std::collections::VecDeque::from([goal]);
    'search: while let Some(point) = queue.pop_front() {
        for at in 0..points.count_after(point) {
            let Some(after) = points.after(point, at) else {
                continue;
            };
            let Ok(slot) = sorted.binary_search(&after) else {
                continue;
            };
            if came_from[slot].is_none() {
                came_from[slot] = Some(point);
                if after == goal {
                    break 'search;
                }
                queue.push_back(after);
            }
        }
    }
    let back = |point: &Point| {
        let slot = sorted.binary_search(point).ok()?;
        came_from[slot].filter(|before| *before != goal)
    };
    let mut circle: Vec<Point> = std::iter::successors(back(&goal), back).collect();
    circle.push(goal);
    circle.reverse();
    circle
}

/// A circle of points as a circle of tasks, without detours: the end of a container needs its start
/// anyway, so a way down into its tasks and up again says nothing. A way from a task's start to its
/// own end is a circle by itself.
fn tasks_of(circle: &[Point]) -> Vec<Node> {
    let mut way: Vec<Point> = Vec::new();
    let mut on_way: std::collections::HashMap<Node, usize> = std::collections::HashMap::new();
    for point in circle.iter().chain(&circle[..1]).copied() {
        let node = node_of(point);
        let Some(met) = on_way.get(&node).copied() else {
            on_way.insert(node, way.len());
            way.push(point);
            continue;
        };
        if is_end(way[met]) && !is_end(point) {
            for left in way.drain(met..) {
                on_way.remove(&node_of(left));
            }
            on_way.insert(node, way.len());
            way.push(point);
        } else {
            return way[met..].iter().copied().map(node_of).collect();
        }
    }
    way.into_iter().map(node_of).collect()
}
