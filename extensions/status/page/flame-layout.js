/*
 * Computes trees of stacks as typed arrays. Pure; runs in the worker.
 *
 * A tree has for each node: parent, name (an index into names), total, self, depth, x (its begin,
 * in the unit of total), first (child) and next (sibling), -1 for none. Parents precede children;
 * node 0 is the root. Siblings are sorted by total. In a comparison, total is the width to draw,
 * and before and after are the two values.
 */

function allocate(n) {
	return {
		n, parent: new Int32Array(n), name: new Int32Array(n), total: new Float64Array(n),
		self: new Float64Array(n), depth: new Int32Array(n), x: new Float64Array(n),
		first: new Int32Array(n).fill(-1), next: new Int32Array(n).fill(-1), depths: 0,
	};
}

/* Fills depth, first, next and x from parent and total. */
function arrange(tree) {
	const { n, parent, total, depth, first, next, x } = tree;
	const order = new Uint32Array(n);
	for (let i = 0; i < n; i++) order[i] = i;
	order.sort((a, b) => total[a] - total[b] || b - a);
	for (const i of order) {
		if (i === 0) continue;
		next[i] = first[parent[i]];
		first[parent[i]] = i;
	}
	let deepest = 0;
	for (let i = 0; i < n; i++) {
		let from = x[i];
		for (let child = first[i]; child >= 0; child = next[child]) {
			depth[child] = depth[i] + 1;
			x[child] = from;
			from += total[child];
			if (depth[child] > deepest) deepest = depth[child];
		}
	}
	tree.depths = deepest + 1;
	return tree;
}

/** Reads a response of /api/flamegraph. @returns {{tree, names: string[]}} */
export function fromAnswer({ nodes, names }) {
	const rows = nodes.length > 0 ? nodes : [[-1, 0, 0, 0]];
	const tree = allocate(rows.length);
	for (let i = 0; i < rows.length; i++) {
		[tree.parent[i], tree.name[i], tree.total[i], tree.self[i]] = rows[i];
	}
	return { tree: arrange(tree), names: names.length > 0 ? names : ["total"] };
}

/* A tree under construction. */
class Growing {
	constructor(values) {
		this.parent = [-1];
		this.name = [0];
		this.values = Array.from({ length: values }, () => [0]);
		this.children = [null];
	}

	child(node, name) {
		const known = (this.children[node] ??= new Map());
		let child = known.get(name);
		if (child === undefined) {
			child = this.parent.length;
			known.set(name, child);
			this.parent.push(node);
			this.name.push(name);
			this.children.push(null);
			for (const value of this.values) value.push(0);
		}
		return child;
	}

	tree(total, self) {
		const tree = allocate(this.parent.length);
		tree.parent.set(this.parent);
		tree.name.set(this.name);
		tree.total.set(total);
		tree.self.set(self);
		return tree;
	}
}

/**
 * Merges two trees.
 * @param scale what each value of before and after is multiplied with, such as one by the total
 */
export function compare(before, after, scale) {
	const names = [...after.names];
	const index = new Map(names.map((name, i) => [name, i]));
	const grown = new Growing(4);
	const take = ({ tree, names: own }, at) => {
		const place = new Int32Array(tree.n);
		for (let i = 0; i < tree.n; i++) {
			if (i > 0) {
				const text = own[tree.name[i]];
				let name = index.get(text);
				if (name === undefined) index.set(text, (name = names.push(text) - 1));
				place[i] = grown.child(place[tree.parent[i]], name);
			} else {
				grown.name[0] = index.get(own[tree.name[0]]) ?? 0;
			}
			grown.values[at][place[i]] += tree.total[i] * scale[at];
			grown.values[at + 2][place[i]] += tree.self[i] * scale[at];
		}
	};
	take(after, 1);
	take(before, 0);
	const [a, b, selfA, selfB] = grown.values;
	const tree = grown.tree(a.map((value, i) => value + b[i]),
		selfA.map((value, i) => value + selfB[i]));
	tree.before = Float64Array.from(a);
	tree.after = Float64Array.from(b);
	tree.selfAfter = Float64Array.from(selfB);
	return { tree: arrange(tree), names };
}

/**
 * Returns self and total of each function; a recursive function counts once per stack. In a
 * comparison also before, after and change, of totals.
 */
export function functions(tree, names) {
	const size = names.length;
	const out = { self: new Float64Array(size), total: new Float64Array(size) };
	if (tree.before) {
		for (const key of ["before", "after", "change"]) out[key] = new Float64Array(size);
	}
	const open = new Int32Array(size);
	walk(tree, (i) => {
		const name = tree.name[i];
		if (open[name]++ === 0) {
			out.total[name] += tree.total[i];
			if (tree.before) {
				out.before[name] += tree.before[i];
				out.after[name] += tree.after[i];
				out.change[name] += tree.after[i] - tree.before[i];
			}
		}
		out.self[name] += tree.self[i];
	}, (i) => open[tree.name[i]]--);
	return out;
}

/* Without recursion: a profiled stack may be deeper than ours can be. */
function walk(tree, enter, leave) {
	let i = 0;
	for (;;) {
		enter(i);
		if (tree.first[i] >= 0) {
			i = tree.first[i];
			continue;
		}
		for (;;) {
			leave(i);
			if (i === 0) return;
			if (tree.next[i] >= 0) {
				i = tree.next[i];
				break;
			}
			i = tree.parent[i];
		}
	}
}

/** Matches a part of a name or /a regular expression/; `fault`: why that is invalid. */
export function matcher(text) {
	const pattern = /^\/(.+)\/$/.exec(text);
	if (pattern) {
		try {
			const expression = new RegExp(pattern[1], "i");
			return (name) => expression.test(name);
		} catch ({ message }) {
			return Object.assign(() => true, { fault: message.split(": ").at(-1) });
		}
	}
	const part = text.toLowerCase();
	return (name) => name.toLowerCase().includes(part);
}

/** Returns which nodes match, the number of their functions, and their total with callees. */
export function search(tree, names, text) {
	const matches = matcher(text);
	const hit = Uint8Array.from(names, (name) => (matches(name) ? 1 : 0));
	const mask = new Uint8Array(tree.n);
	const below = new Uint8Array(tree.n);
	let total = 0;
	for (let i = 0; i < tree.n; i++) {
		const inside = i > 0 && below[tree.parent[i]];
		mask[i] = i > 0 || tree.n === 1 ? hit[tree.name[i]] : 0;
		below[i] = inside || mask[i] ? 1 : 0;
		if (mask[i] && !inside) total += tree.total[i];
	}
	const used = new Set();
	for (let i = 0; i < tree.n; i++) if (mask[i]) used.add(tree.name[i]);
	return { mask, total, functions: used.size };
}

/**
 * Returns the callees of a function and, from it outwards, its callers. In recursion the outermost
 * call counts.
 */
export function sandwich(tree, name) {
	const callees = new Growing(2);
	const callers = new Growing(2);
	callees.name[0] = callers.name[0] = name;
	const place = new Int32Array(tree.n).fill(-1);
	for (let i = 0; i < tree.n; i++) {
		const up = i > 0 ? place[tree.parent[i]] : -1;
		if (up >= 0) {
			place[i] = callees.child(up, tree.name[i]);
		} else if (tree.name[i] === name) {
			place[i] = 0;
			addCallers(tree, i, callers);
		} else continue;
		callees.values[0][place[i]] += tree.total[i];
		callees.values[1][place[i]] += tree.self[i];
	}
	return {
		callers: arrange(callers.tree(callers.values[0], callers.values[1])),
		callees: arrange(callees.tree(callees.values[0], callees.values[1])),
	};
}

/* Leaves out the root, which is not a function. */
function addCallers(tree, i, callers) {
	const value = tree.total[i];
	let at = 0;
	callers.values[0][0] += value;
	for (let up = tree.parent[i]; up > 0; up = tree.parent[up]) {
		at = callers.child(at, tree.name[up]);
		callers.values[0][at] += value;
	}
	callers.values[1][at] += value;
}
