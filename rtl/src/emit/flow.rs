//! Order and paths: what rust-hdl's simulator does with a kernel as a
//! sequence of assignments, and how that becomes independent drivers.
//!
//! rust-hdl runs the kernel again and again until nothing changes. Within one
//! run a `Local` or `Out` signal reads as the variable assigned last, an
//! input, an instance's output and an instance's input as the settled value.
//! A statement that reads a variable before its last assignment therefore has
//! to share an `always` block with the later assignments (see `groups`); every
//! other statement is a driver of its own and reads nets:
//!
//! ```text
//!   kernel statements ── paths ── dead defaults ── structs joined ── groups
//!                          │                                           │
//!                     latch, stale read                     assign / always @*
//! ```

use super::design::{Design, Event, Role, Stmt};
use super::error::EmitError;
use super::expr::{mask, Expr, Kind, NetId};
use super::groups::{access, group, Footprint};
use num_bigint::BigUint;
use std::collections::{HashMap, HashSet};

/// One driver of the module.
#[derive(Clone, Debug)]
pub(super) enum Driver {
    Assign { net: NetId, value: Expr },
    Always(Vec<Stmt>),
}

/// The drivers of a module, and the nets that are other nets.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub(super) drivers: Vec<Driver>,
    /// Instance inputs connected straight to a net or constant, and instance
    /// outputs connected straight to an output port.
    pub(super) direct: HashMap<NetId, Expr>,
}

pub(super) fn plan(design: &mut Design) -> Result<Plan, EmitError> {
    check_paths(design)?;
    let mut body: Vec<Stmt> = std::mem::take(&mut design.body);
    drop_idle(&mut body);
    drop_dead_defaults(design, &mut body);
    join_fields(design, &mut body);
    let mut body = hoist_temporaries(design, body);
    drop_unread_temporaries(design, &mut body);
    let groups = group(design, &body);
    check_settled(design, &body, &groups)?;
    let mut plan = Plan::default();
    let mut order: Vec<usize> = Vec::new();
    let mut members: HashMap<usize, Vec<Stmt>> = HashMap::new();
    for (stmt, group) in body.into_iter().zip(&groups) {
        if !members.contains_key(group) {
            order.push(*group);
        }
        members.entry(*group).or_default().push(stmt);
    }
    for group in order {
        let stmts = members.remove(&group).unwrap_or_default();
        plan.drivers.push(match <[Stmt; 1]>::try_from(stmts) {
            Ok([Stmt::Assign { net, value, .. }]) if value.width == design.nets[net].width => {
                Driver::Assign { net, value }
            }
            Ok([stmt]) => Driver::Always(with_defaults(design, vec![stmt])),
            Err(stmts) => Driver::Always(with_defaults(design, stmts)),
        });
    }
    connect_directly(design, &mut plan);
    Ok(plan)
}

fn span(lsb: usize, width: usize, of: usize) -> BigUint {
    if width == usize::MAX {
        mask(of)
    } else {
        mask(width) << lsb
    }
}

/// Which bits of each net have been assigned on every path so far.
type Assigned = HashMap<NetId, BigUint>;

fn check_paths(design: &Design) -> Result<(), EmitError> {
    let mut assigned = Assigned::new();
    let mut touched = HashSet::new();
    follow(design, &design.body, &mut assigned, &mut touched)?;
    for (id, net) in design.nets.iter().enumerate() {
        let driven_here = matches!(net.role, Role::Output | Role::Local | Role::ChildInput(_));
        if !driven_here {
            continue;
        }
        let (path, signal) = (design.path.clone(), net.key.replace('$', "."));
        if !touched.contains(&id) {
            return Err(EmitError::Undriven { path, signal });
        }
        if assigned.get(&id) != Some(&mask(net.width)) {
            return Err(EmitError::Latch { path, signal });
        }
    }
    Ok(())
}

fn follow(
    design: &Design,
    stmts: &[Stmt],
    assigned: &mut Assigned,
    touched: &mut HashSet<NetId>,
) -> Result<(), EmitError> {
    for stmt in stmts {
        match stmt {
            Stmt::Assign { net, lsb, value } => {
                check_read(design, value, assigned)?;
                touched.insert(*net);
                *assigned.entry(*net).or_default() |= mask(value.width) << *lsb;
            }
            Stmt::If { test, then, otherwise } => {
                check_read(design, test, assigned)?;
                branch(design, &[then, otherwise], assigned, touched)?;
            }
            Stmt::Case { test, arms, default, .. } => {
                check_read(design, test, assigned)?;
                let mut bodies: Vec<&Vec<Stmt>> = arms.iter().map(|(_, body)| body).collect();
                bodies.push(default);
                branch(design, &bodies, assigned, touched)?;
            }
            Stmt::Comment(_) => {}
        }
    }
    Ok(())
}

fn branch(
    design: &Design,
    bodies: &[&Vec<Stmt>],
    assigned: &mut Assigned,
    touched: &mut HashSet<NetId>,
) -> Result<(), EmitError> {
    let mut common: Option<Assigned> = None;
    for body in bodies {
        let mut here = assigned.clone();
        follow(design, body, &mut here, touched)?;
        common = Some(match common {
            None => here,
            Some(mut common) => {
                common.retain(|net, bits| {
                    *bits &= here.get(net).cloned().unwrap_or_default();
                    *bits != BigUint::default()
                });
                common
            }
        });
    }
    *assigned = common.unwrap_or_default();
    Ok(())
}

fn check_read(design: &Design, value: &Expr, assigned: &Assigned) -> Result<(), EmitError> {
    let mut stale = None;
    value.for_each_read(&mut |net, lsb, width| {
        let known = &design.nets[net];
        if known.role.reads_as_variable() {
            let wanted = span(lsb, width, known.width);
            let have = assigned.get(&net).cloned().unwrap_or_default();
            if &wanted & &have != wanted {
                stale = Some(net);
            }
        }
    });
    match stale {
        None => Ok(()),
        Some(net) => Err(EmitError::ReadBeforeAssign {
            path: design.path.clone(),
            signal: design.nets[net].key.replace('$', "."),
        }),
    }
}

/// The net a top-level statement assigns as a whole, if it does just that.
fn whole_assignment(design: &Design, stmt: &Stmt) -> Option<NetId> {
    match stmt {
        Stmt::Assign { net, value, .. } if value.width == design.nets[*net].width => Some(*net),
        _ => None,
    }
}

/// Removes branches that assign nothing: an empty `always` block never runs,
/// which tools call a mistake.
fn drop_idle(body: &mut Vec<Stmt>) {
    body.retain_mut(|stmt| match stmt {
        Stmt::Assign { .. } | Stmt::Comment(_) => true,
        Stmt::If { then, otherwise, .. } => {
            drop_idle(then);
            drop_idle(otherwise);
            !(then.is_empty() && otherwise.is_empty())
        }
        Stmt::Case { arms, default, .. } => {
            arms.iter_mut().for_each(|(_, body)| drop_idle(body));
            drop_idle(default);
            !(default.is_empty() && arms.iter().all(|(_, body)| body.is_empty()))
        }
    });
}

/// Removes assignments that a later one overwrites unseen: `dff_setup!` gives
/// every register a default, and most are assigned right after.
fn drop_dead_defaults(design: &Design, body: &mut Vec<Stmt>) {
    let mut overwritten: HashSet<NetId> = HashSet::new();
    let mut keep = vec![true; body.len()];
    for (at, stmt) in body.iter().enumerate().rev() {
        let access = access(stmt);
        if access.writes.len() == 1 && access.writes.is_subset(&overwritten) {
            keep[at] = false;
            continue;
        }
        if let Some(net) = whole_assignment(design, stmt) {
            overwritten.insert(net);
        }
        overwritten.retain(|net| !(access.reads.contains(net) && design.nets[*net].role.reads_as_variable()));
    }
    let mut keep = keep.into_iter();
    body.retain(|_| keep.next().unwrap_or(true));
}

/// Turns a struct assigned field by field into one assignment.
fn join_fields(design: &Design, body: &mut Vec<Stmt>) {
    let accesses: Vec<Footprint> = body.iter().map(access).collect();
    for net in 0..design.nets.len() {
        let writers: Vec<usize> = (0..body.len()).filter(|at| accesses[*at].writes.contains(&net)).collect();
        let Some((&last, earlier)) = writers.split_last() else { continue };
        if earlier.is_empty() && whole_assignment(design, &body[last]).is_some() {
            continue;
        }
        let value = joined(design, body, &accesses, net, &writers);
        if let Some(value) = value {
            for at in earlier {
                body[*at] = Stmt::Assign { net, lsb: 0, value: value.clone() };
            }
            body[last] = Stmt::Assign { net, lsb: 0, value };
        }
    }
    drop_dead_defaults(design, body);
}

fn joined(
    design: &Design,
    body: &[Stmt],
    accesses: &[Footprint],
    net: NetId,
    writers: &[usize],
) -> Option<Expr> {
    let width = design.nets[net].width;
    let (first, last) = (*writers.first()?, *writers.last()?);
    if accesses[first..=last].iter().any(|access| access.reads.contains(&net)) {
        return None;
    }
    // Pieces from the least significant bit on.
    let mut pieces: Vec<(usize, Expr)> = Vec::new();
    for at in writers {
        let Stmt::Assign { lsb, value, .. } = &body[*at] else { return None };
        // Evaluated later, the value must still be the same.
        let moves = accesses[*at].reads.iter().any(|read| {
            design.nets[*read].role.reads_as_variable()
                && accesses[at + 1..=last].iter().any(|later| later.writes.contains(read))
        });
        if moves {
            return None;
        }
        let mut next = Vec::new();
        let end = lsb + value.width;
        for (base, piece) in pieces {
            let top = base + piece.width;
            if base < *lsb {
                next.push((base, piece.clone().slice(0, top.min(*lsb) - base).ok()?));
            }
            if top > end {
                let from = base.max(end);
                next.push((from, piece.slice(from - base, top - from).ok()?));
            }
        }
        next.push((*lsb, value.clone()));
        next.sort_by_key(|(base, _)| *base);
        pieces = next;
    }
    let complete = pieces.iter().map(|(_, piece)| piece.width).sum::<usize>() == width;
    complete.then(|| Expr::concat(pieces.into_iter().rev().map(|(_, piece)| piece).collect()))
}

fn drop_unread_temporaries(design: &Design, body: &mut Vec<Stmt>) {
    loop {
        let mut read: HashSet<NetId> = HashSet::new();
        for stmt in body.iter() {
            read.extend(access(stmt).reads);
        }
        let before = body.len();
        body.retain(|stmt| match stmt {
            Stmt::Assign { net, .. } => design.nets[*net].role != Role::Temporary || read.contains(net),
            _ => true,
        });
        if body.len() == before {
            return;
        }
    }
}

/// Temporaries that had to stay inside a branch get a default in front, or
/// they would be latches.
fn with_defaults(design: &Design, stmts: Vec<Stmt>) -> Vec<Stmt> {
    let mut nested: Vec<NetId> = Vec::new();
    for stmt in stmts.iter().filter(|stmt| !matches!(stmt, Stmt::Assign { .. })) {
        stmt.walk(&mut |event| {
            if let Event::Write(net) = event {
                if design.nets[net].role == Role::Temporary {
                    nested.push(net);
                }
            }
        });
    }
    let default = |net: &NetId| Stmt::Assign {
        net: *net,
        lsb: 0,
        value: Expr::constant(BigUint::default(), design.nets[*net].width),
    };
    nested.iter().map(default).chain(stmts).collect()
}

/// Moves temporaries out of branches wherever their value does not depend on
/// how far the block around them has run.
fn hoist_temporaries(design: &Design, body: Vec<Stmt>) -> Vec<Stmt> {
    let groups = group(design, &body);
    let mut written: HashMap<usize, HashSet<NetId>> = HashMap::new();
    for (stmt, group) in body.iter().zip(&groups) {
        written.entry(*group).or_default().extend(access(stmt).writes);
    }
    let mut out = Vec::new();
    for (mut stmt, group) in body.into_iter().zip(groups) {
        let Some(held) = written.get_mut(&group) else { continue };
        if !matches!(stmt, Stmt::Assign { .. }) {
            hoist(design, &mut stmt, held, &mut out);
        }
        out.push(stmt);
    }
    out
}

fn hoist(design: &Design, stmt: &mut Stmt, held: &mut HashSet<NetId>, out: &mut Vec<Stmt>) {
    let bodies: Vec<&mut Vec<Stmt>> = match stmt {
        Stmt::If { then, otherwise, .. } => vec![then, otherwise],
        Stmt::Case { arms, default, .. } => arms.iter_mut().map(|(_, body)| body).chain([default]).collect(),
        _ => return,
    };
    for body in bodies {
        let mut kept = Vec::new();
        for mut inner in std::mem::take(body) {
            hoist(design, &mut inner, held, out);
            if let Stmt::Assign { net, value, .. } = &inner {
                let mut free = design.nets[*net].role == Role::Temporary;
                value.for_each_read(&mut |read, _, _| free &= !held.contains(&read));
                if free {
                    held.remove(net);
                    out.push(inner);
                    continue;
                }
            }
            kept.push(inner);
        }
        *body = kept;
    }
}

/// An instance input reads as its settled value, which inside an `always`
/// block holds only after its last assignment.
fn check_settled(design: &Design, body: &[Stmt], groups: &[usize]) -> Result<(), EmitError> {
    let mut position = 0usize;
    let mut last_write: HashMap<NetId, (usize, usize)> = HashMap::new();
    let mut reads: Vec<(NetId, usize, usize)> = Vec::new();
    for (stmt, group) in body.iter().zip(groups) {
        stmt.walk(&mut |event| {
            position += 1;
            match event {
                Event::Read(value) => value.for_each_read(&mut |net, _, _| {
                    if matches!(design.nets[net].role, Role::ChildInput(_)) {
                        reads.push((net, *group, position));
                    }
                }),
                Event::Write(net) => {
                    last_write.insert(net, (*group, position));
                }
            }
        });
    }
    for (net, group, at) in reads {
        if last_write.get(&net).is_some_and(|(writer, last)| *writer == group && *last > at) {
            return Err(EmitError::UnsettledRead {
                path: design.path.clone(),
                signal: design.nets[net].key.replace('$', "."),
            });
        }
    }
    Ok(())
}

/// Connects instance ports straight where a driver is nothing but a wire.
fn connect_directly(design: &Design, plan: &mut Plan) {
    let whole = |value: &Expr| match value.kind {
        Kind::Net { net, lsb: 0 } if design.nets[net].width == value.width => Some(net),
        _ => None,
    };
    let mut read: HashSet<NetId> = HashSet::new();
    for driver in &plan.drivers {
        match driver {
            Driver::Assign { value, .. } => value.for_each_read(&mut |net, _, _| {
                read.insert(net);
            }),
            Driver::Always(stmts) => {
                stmts.iter().for_each(|stmt| read.extend(access(stmt).reads));
            }
        }
    }
    let mut direct: HashMap<NetId, Expr> = HashMap::new();
    plan.drivers.retain(|driver| {
        let Driver::Assign { net, value } = driver else { return true };
        match design.nets[*net].role {
            Role::ChildInput(_) => {
                let simple = match whole(value) {
                    Some(source) => !matches!(design.nets[source].role, Role::ChildInput(_)),
                    None => matches!(value.kind, Kind::Const(_) | Kind::Param(_)) && !read.contains(net),
                };
                if simple {
                    direct.insert(*net, value.clone());
                }
                !simple
            }
            Role::Output => match whole(value) {
                Some(source)
                    if matches!(design.nets[source].role, Role::ChildOutput(_))
                        && !direct.contains_key(&source) =>
                {
                    direct.insert(source, Expr::net(*net, 0, value.width));
                    false
                }
                _ => true,
            },
            _ => true,
        }
    });
    plan.direct = direct;
}
