/* A long list of rows of equal height, of which only those near the viewport exist. */

/* rows above and below the viewport */
const BEYOND = 12;

export class Rows {
	/**
	 * @param host takes the rows and nothing else
	 * @param options.key tells items apart
	 * @param [options.state] a row is drawn anew when this changes
	 * @param [options.whole] up to so many, all rows exist
	 * @param [options.reached] the last row drawn
	 */
	constructor(host, { key, render, state = JSON.stringify, whole = 300, reached, signal }) {
		Object.assign(this, { host, key, render, state, whole, reached });
		this.items = [];
		this.drawn = new Map();
		this.height = 0;
		this.frame = 0;
		const later = () => {
			cancelAnimationFrame(this.frame);
			this.frame = requestAnimationFrame(() => this.paint());
		};
		addEventListener("scroll", later, { passive: true, signal });
		addEventListener("resize", () => { this.height = 0; later(); }, { signal });
		signal.addEventListener("abort", () => cancelAnimationFrame(this.frame));
	}

	set(items) {
		this.items = items;
		this.paint();
	}

	/** Scrolls a row into view and returns it. */
	reveal(index) {
		if (!this.drawn.has(this.key(this.items[index]))) {
			const top = this.host.getBoundingClientRect().top + scrollY;
			scrollTo({ top: top + index * this.height - innerHeight / 2, behavior: "instant" });
			this.paint();
		}
		const node = this.drawn.get(this.key(this.items[index]))?.node;
		node?.scrollIntoView({ block: "nearest" });
		return node;
	}

	range() {
		const length = this.items.length;
		if (length <= this.whole || !this.height) return [0, Math.min(length, this.whole)];
		const top = this.host.getBoundingClientRect().top;
		const first = Math.floor(-top / this.height) - BEYOND;
		const from = Math.min(Math.max(0, first), Math.max(0, length - 1));
		return [from, Math.min(length, Math.ceil((innerHeight - top) / this.height) + BEYOND)];
	}

	paint() {
		const [from, to] = this.range();
		const wanted = new Map();
		for (let i = from; i < to; i++) {
			const item = this.items[i];
			const key = this.key(item);
			const state = this.state(item);
			const old = this.drawn.get(key);
			wanted.set(key, old?.state === state ? old : { state, node: this.render(item, i) });
			wanted.get(key).index = i;
		}
		this.replace(wanted);
		this.drawn = wanted;
		this.space(from, to);
		if (to > from) this.reached?.(to - 1);
	}

	/* Does not move nodes that stay, so that they keep the focus; a redrawn one gets it back, the first
	 * one that of a row which is gone. */
	replace(wanted) {
		const focused = [...this.drawn].find(([, row]) => row.node.contains(document.activeElement));
		const stay = new Set([...wanted.values()].map((row) => row.node));
		for (const { node } of this.drawn.values()) if (!stay.has(node)) node.remove();
		let next = this.host.firstChild;
		for (const { node, index } of wanted.values()) {
			if (node.hasAttribute("aria-rowindex")) node.setAttribute("aria-rowindex", index + 2);
			if (node === next) next = next.nextSibling;
			else this.host.insertBefore(node, next);
		}
		const again = focused && (wanted.get(focused[0])?.node ?? this.host.firstChild);
		if (again && again !== focused[1].node) {
			again.querySelector("[tabindex='0'], a")?.focus({ preventScroll: true });
		}
	}

	space(from, to) {
		const length = this.items.length;
		if (!this.height && this.host.firstElementChild) {
			this.height = this.host.firstElementChild.getBoundingClientRect().height;
		}
		const windowed = length > this.whole;
		this.host.style.paddingTop = windowed ? `${from * this.height}px` : "";
		this.host.style.paddingBottom = windowed ? `${(length - to) * this.height}px` : "";
	}
}
