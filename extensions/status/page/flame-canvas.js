/*
 * Draws a tree of flame-layout.js on a canvas. Invisible buttons over the widest frames and the one
 * in focus serve keyboards and screen readers.
 */
import { fill, h, onResize } from "./dom.js";
import { count, hue, inUnit, percent } from "./format.js";

/* besides the one in focus */
const BUTTONS = 250;
/* least width of a button, pixels */
const LEAST = 8;
/* least width of a frame with a label */
const LABEL = 28;
/* frames less wide are drawn together, in a block of this width or more */
const NARROW = 0.7;
const BLOCK = 3;
const TONES = [8, 16, 24, 32, 40, 48, 20, 36, 198, 168, 256, 96];

/* Frames of a module have the same colour. */
function moduleOf(name) {
	const file = /\s\(?([^\s()]+\.\w+)(?::\d+)?\)?$/.exec(name)?.[1] ?? name;
	const slash = file.lastIndexOf("/");
	const dot = slash > 0 ? file.indexOf(".", slash) : file.lastIndexOf(".");
	return dot > 0 ? file.slice(0, dot) : file;
}

const narrow = (frames) => `${count(frames)} too narrow to draw`;

export class FlameCanvas {
	/**
	 * @param options.label what it is a graph of
	 * @param [options.up] flames: the root is at the bottom
	 * @param [options.most] the greatest height, in pixels
	 */
	constructor({ label, up = false, most = 560, selected, zoomed, signal }) {
		Object.assign(this, { up, most, selected, zoomed });
		this.zoom = 0;
		this.focus = 0;
		this.mask = null;
		this.visible = [];
		this.row = matchMedia("(pointer: coarse)").matches ? 28 : 22;
		this.canvas = h("canvas", { "aria-hidden": "true" });
		this.frames = h("div.frames", { onkeydown: (event) => this.key(event),
			onfocusin: (event) => this.focused(event), onfocusout: () => this.hideTip() });
		this.tip = h("div.tip", { "aria-hidden": "true", hidden: true });
		this.inner = h("div.flame-inner", { onpointermove: (event) => this.hover(event),
			onpointerleave: () => this.hideTip(), onclick: (event) => this.click(event) },
		this.canvas, this.frames);
		this.scroller = h("div.flame-scroll", { onscroll: () => this.later() }, this.inner);
		this.element = h("div.flame", { role: "group", "aria-label": label,
			"aria-roledescription": "flame graph" }, this.scroller, this.tip);
		onResize(this.scroller, signal, () => this.later());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
			this.colours = null;
			this.later();
		}, { signal });
	}

	/** @param view {tree, names, unit, was}; unit null: shares of two profiles; was: of the other. */
	show(view, zoom = 0) {
		Object.assign(this, view);
		this.mask = null;
		this.hues = new Int16Array(this.names.length).fill(-1);
		this.zoom = this.focus = zoom < this.tree.n ? zoom : 0;
		this.size();
		this.setUp(this.up);
	}

	setUp(up) {
		this.up = up;
		this.fresh = true;
		this.later();
	}

	setMask(mask) {
		this.mask = mask;
		this.later();
	}

	zoomTo(node) {
		this.zoom = node;
		if (!this.under(this.focus, node)) this.focus = node;
		this.size();
		this.later();
		this.zoomed?.(node);
	}

	under(node, above) {
		for (; node >= 0; node = this.tree.parent[node]) if (node === above) return true;
		return false;
	}

	size() {
		this.content = this.tree.depths * this.row;
		this.inner.style.height = `${this.content}px`;
		/* a phone scrolls the page, so that hot frames are not below the edge of a box in it */
		const most = innerWidth < 600 ? 4 * this.most : this.most;
		this.scroller.style.height = `${Math.min(this.content, most) + 2}px`;
	}

	later() {
		cancelAnimationFrame(this.frame);
		this.frame = requestAnimationFrame(() => this.draw());
	}

	y(depth) {
		return this.up ? this.content - (depth + 1) * this.row : depth * this.row;
	}

	/* Returns the visible frames as {node, x, y, w}, ancestors of the zoomed node first. With
	   `more`, a block of that many which are too narrow; node is the widest of them. */
	collect(width, top, bottom) {
		const { tree, zoom } = this;
		const out = [];
		const keep = (node, x, w, more) => {
			const y = this.y(tree.depth[node]);
			if (y + this.row >= top && y <= bottom) out.push({ node, x, y, w, more });
		};
		for (let up = tree.parent[zoom]; up >= 0; up = tree.parent[up]) keep(up, 0, width);
		const scale = width / (tree.total[zoom] || 1);
		const stack = [zoom];
		while (stack.length > 0) {
			const node = stack.pop();
			keep(node, (tree.x[node] - tree.x[zoom]) * scale,
				node === zoom ? width : tree.total[node] * scale);
			for (let child = tree.first[node]; child >= 0; child = tree.next[child]) {
				/* the rest are smaller */
				if (tree.total[child] * scale < NARROW) {
					const rest = (tree.x[node] + tree.total[node] - tree.self[node] - tree.x[child]) * scale;
					if (rest >= BLOCK) keep(child, (tree.x[child] - tree.x[zoom]) * scale, rest, this.rest(child));
					break;
				}
				stack.push(child);
			}
		}
		return out;
	}

	/* The number of siblings from one on. */
	rest(child) {
		let siblings = 0;
		for (; child >= 0; child = this.tree.next[child]) siblings++;
		return siblings;
	}

	draw() {
		if (!this.tree || !this.element.isConnected) return;
		const width = this.scroller.clientWidth;
		const height = this.scroller.clientHeight;
		if (width === 0) return;
		if (this.fresh) this.scroller.scrollTop = this.up ? this.content : 0;
		this.fresh = false;
		const top = this.scroller.scrollTop;
		const dense = window.devicePixelRatio || 1;
		Object.assign(this.canvas,
			{ width: Math.round(width * dense), height: Math.round(height * dense) });
		Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px`,
			transform: `translateY(${top}px)` });
		this.visible = this.collect(width, top, top + height);
		const pen = this.canvas.getContext("2d");
		pen.setTransform(dense, 0, 0, dense, 0, -top * dense);
		this.paint(pen);
		this.buttons();
	}

	theme() {
		if (this.colours) return this.colours;
		const style = getComputedStyle(this.element);
		const [text, faint, faintText, root] = ["text", "faint", "faint-text", "root"].map(
			(name) => style.getPropertyValue(`--frame-${name}`).trim());
		return (this.colours = { dark: matchMedia("(prefers-color-scheme: dark)").matches,
			font: `12px ${style.fontFamily}`, text, faint, faintText, root });
	}

	colour(node) {
		const { tree } = this;
		const theme = this.theme();
		if (this.mask && !this.mask[node]) return theme.faint;
		if (tree.before) return this.change(node, theme.dark);
		if (node === 0 && !this.rooted) return theme.root;
		const name = tree.name[node];
		if (this.hues[name] < 0) this.hues[name] = hue(moduleOf(this.names[name]));
		const tone = TONES[this.hues[name] % TONES.length];
		const [strong, light] = theme.dark ? [46, 60] : [76, 77];
		return `hsl(${tone} ${tone > 60 ? strong * 0.6 : strong}% ${light}%)`;
	}

	/* Blue: decreased, orange: increased; the stronger, the larger the change. */
	change(node, dark) {
		const { before, after } = this.tree;
		const most = Math.max(before[node], after[node]);
		const part = most > 0 ? (after[node] - before[node]) / most : 0;
		const strength = Math.round(Math.min(1, Math.abs(part)) * 100);
		if (strength < 3) return dark ? "hsl(215 8% 62%)" : "hsl(215 12% 87%)";
		const tone = part > 0 ? 24 : 212;
		return dark ? `hsl(${tone} ${30 + strength * 0.6}% ${62 - strength * 0.02}%)`
			: `hsl(${tone} ${40 + strength * 0.55}% ${88 - strength * 0.2}%)`;
	}

	paint(pen) {
		const { text, faint, faintText, font } = this.theme();
		pen.font = font;
		pen.textBaseline = "middle";
		for (const { node, x, y, w, more } of this.visible) {
			pen.globalAlpha = this.under(this.zoom, node) && node !== this.zoom ? 0.6 : 1;
			pen.fillStyle = more ? faint : this.colour(node);
			pen.fillRect(x, y, Math.max(0.6, w - (w > 3 ? 1 : 0.3)), this.row - 1);
			if (w < LABEL) continue;
			pen.fillStyle = more || (this.mask && !this.mask[node]) ? faintText : text;
			pen.fillText(this.fitting(pen, more ? narrow(more) : this.names[this.tree.name[node]],
				w - 10), x + 5, y + this.row / 2);
		}
		pen.globalAlpha = 1;
	}

	fitting(pen, name, room) {
		const letter = (this.letter ??= pen.measureText("mean width of it").width / 16);
		if (name.length * letter * 1.3 < room || pen.measureText(name.slice(0, 400)).width <= room) {
			return name;
		}
		let fit = Math.max(1, Math.floor(room / letter));
		while (fit > 1 && pen.measureText(`${name.slice(0, fit)}…`).width > room) fit--;
		return fit > 1 ? `${name.slice(0, fit)}…` : "";
	}

	/** "function, self 1.2 ms (4 %), total 34 ms (12.3 %)" */
	describe(node) {
		const { tree, names } = this;
		const name = names[tree.name[node]];
		if (tree.before) {
			const [a, b] = [tree.before[node], tree.after[node]];
			return `${name}, self ${this.value(tree.selfAfter[node])}, total ${this.value(b)}, ` +
				`${this.was} ${this.value(a)}, ${b >= a ? "more" : "less"} by ${this.value(Math.abs(b - a))}`;
		}
		const share = (value) => `${this.value(value)} (${percent(value / (tree.total[0] || 1))})`;
		return `${name}, self ${share(tree.self[node])}, total ${share(tree.total[node])}`;
	}

	value(value) {
		return this.unit === null ? percent(value) : inUnit(value, this.unit);
	}

	/* Tab reaches one button, the arrow keys the others. */
	buttons() {
		const held = this.frames.contains(document.activeElement);
		const widest = this.visible.filter(({ w, more }) => w >= LEAST && !more).sort((a, b) => b.w - a.w)
			.slice(0, BUTTONS).sort((a, b) => this.tree.depth[a.node] - this.tree.depth[b.node]
				|| a.x - b.x);
		if (!widest.some(({ node }) => node === this.focus)) {
			widest.push(this.visible.find(({ node }) => node === this.focus) ?? this.place(this.focus));
		}
		const old = new Map([...this.frames.children].map((button) => [Number(button.dataset.node),
			button]));
		const kept = widest.map((place) => this.button(place, old.get(place.node)));
		for (const button of old.values()) if (!kept.includes(button)) button.remove();
		kept.forEach((button, i) => {
			if (this.frames.children[i] !== button) this.frames.insertBefore(button,
				this.frames.children[i] ?? null);
		});
		if (held) this.current()?.focus({ preventScroll: true });
	}

	current() {
		return this.frames.querySelector("[tabindex='0']");
	}

	button({ node, x, y, w }, known) {
		const button = known ?? h("button.frame", { type: "button", dataset: { node } });
		const label = this.describe(node);
		if (button.ariaLabel !== label) button.ariaLabel = label;
		button.tabIndex = node === this.focus ? 0 : -1;
		Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${Math.max(2, w - 1)}px`,
			height: `${this.row - 1}px` });
		return button;
	}

	place(node) {
		const { tree, zoom } = this;
		const width = this.scroller.clientWidth;
		const scale = width / (tree.total[zoom] || 1);
		const above = node !== zoom && this.under(zoom, node);
		return { node, x: above ? 0 : (tree.x[node] - tree.x[zoom]) * scale,
			y: this.y(tree.depth[node]),
			w: above ? width : tree.total[node] * scale };
	}

	find(event) {
		const box = this.inner.getBoundingClientRect();
		const [px, py] = [event.clientX - box.left, event.clientY - box.top];
		return this.visible.find(({ x, y, w }) => px >= x && px < x + Math.max(1, w) && py >= y &&
			py < y + this.row);
	}

	hover(event) {
		const found = this.find(event);
		if (!found) return this.hideTip();
		this.inner.style.cursor = "pointer";
		this.showTip(found.node, event.clientX, event.clientY, found.more);
	}

	showTip(node, x, y, more, bottom = innerHeight) {
		const name = more ? narrow(more) : this.names[this.tree.name[node]];
		fill(this.tip, h("strong", name), h("div", more ? "A click shows the widest; or search."
			: this.describe(node).slice(name.length + 2)));
		this.tip.hidden = false;
		const box = this.tip.getBoundingClientRect();
		this.tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 12))}px`;
		this.tip.style.top = `${y + 18 + box.height > Math.min(bottom, innerHeight) ? Math.max(4, y - box.height - 14) : y + 18}px`;
	}

	hideTip() {
		this.tip.hidden = true;
		this.inner.style.cursor = "";
	}

	click(event) {
		// A click by key has no coordinates.
		const node = event.detail === 0 ? Number(event.target.dataset.node ?? -1)
			: this.find(event)?.node;
		if (node === undefined || node < 0) return;
		this.focus = node;
		this.zoomTo(node === this.zoom && node !== 0 ? this.tree.parent[node] : node);
		this.selected?.(node);
	}

	focused(event) {
		const node = Number(event.target.dataset.node);
		if (this.focus !== node) {
			this.focus = node;
			for (const button of this.frames.children) {
				button.tabIndex = Number(button.dataset.node) === node ? 0 : -1;
			}
		}
		this.selected?.(node);
		if (!event.target.matches(":focus-visible")) return;
		const box = event.target.getBoundingClientRect();
		/* What is below the graph stays in view. */
		this.showTip(node, box.left, box.bottom - 10, 0, this.scroller.getBoundingClientRect().bottom);
	}

	towards(key) {
		const { tree, focus } = this;
		const [outer, deeper] = this.up ? ["Down", "Up"] : ["Up", "Down"];
		return {
			[`Arrow${deeper}`]: () => Math.max(tree.first[focus], 0) || focus,
			[`Arrow${outer}`]: () => Math.max(tree.parent[focus], 0),
			Home: () => 0, End: () => this.end(),
			ArrowRight: () => this.beside(1), ArrowLeft: () => this.beside(-1),
		}[key]?.();
	}

	end() {
		let node = this.zoom;
		while (this.tree.first[node] >= 0) node = this.tree.first[node];
		return node;
	}

	/* The next visible frame at the same depth. */
	beside(step) {
		const { tree, focus } = this;
		const depth = tree.depth[focus];
		const level = this.visible.filter(({ node }) => tree.depth[node] === depth)
			.sort((a, b) => a.x - b.x).map(({ node }) => node);
		return level[level.indexOf(focus) + step] ?? focus;
	}

	key(event) {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (event.key === "Escape" && this.zoom !== 0) {
			this.zoomTo(0);
		} else {
			const node = this.towards(event.key);
			if (node === undefined) return;
			this.moveTo(node);
		}
		event.preventDefault();
		event.stopPropagation();
	}

	moveTo(node) {
		this.focus = node;
		if (!this.under(node, this.zoom) && !this.under(this.zoom, node)) this.zoomTo(node);
		const y = this.y(this.tree.depth[node]);
		const { scrollTop, clientHeight } = this.scroller;
		if (y < scrollTop) this.scroller.scrollTop = y;
		else if (y + this.row > scrollTop + clientHeight) {
			this.scroller.scrollTop = y + this.row - clientHeight;
		}
		this.draw();
		this.current()?.focus({ preventScroll: true });
	}
}
