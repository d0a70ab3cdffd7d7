/* Makes elements without markup: telemetry becomes text or the value of an attribute. */

/** A text with controls that hide or reorder what is around them written as \u202e and so on. */
export const plain = (text) => String(text).replace(
	/[\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
	(c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

function apply(node, props) {
	for (const [key, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false) continue;
		if (key === "text") node.textContent = plain(value);
		else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k,
			v);
		else if (key === "dataset") Object.assign(node.dataset, value);
		else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (key === "value" || key === "checked" || key === "disabled") node[key] = value;
		else if (key === "href") node.setAttribute(key, value);
		else node.setAttribute(key, value === true ? "" : plain(value));
	}
}

function add(node, children) {
	for (const child of children.flat(Infinity)) {
		if (child === undefined || child === null || child === false) continue;
		node.append(child instanceof Node ? child : plain(child));
	}
	return node;
}

const maker = (space) => (tag, props, ...children) => {
	const [name, ...classes] = tag.split(".");
	const node = document.createElementNS(space, name);
	if (classes.length > 0) node.setAttribute("class", classes.join(" "));
	const given = props && Object.getPrototypeOf(props) === Object.prototype;
	if (given) apply(node, props);
	return add(node, given ? children : [props, ...children]);
};

/**
 * Makes an HTML element from "tag.class", optional properties and children. Properties: `text`,
 * `style` (an object), `dataset`, `on<event>`, else attributes. Null, undefined and false leave an
 * attribute or a child out.
 */
export const h = maker("http://www.w3.org/1999/xhtml");

/** The same for SVG. */
export const s = maker("http://www.w3.org/2000/svg");

/** Calls resized() now and whenever the size of a node changes. */
export function onResize(node, signal, resized) {
	const observer = new ResizeObserver(resized);
	observer.observe(node);
	signal.addEventListener("abort", () => observer.disconnect());
}

export function fill(node, ...children) {
	node.replaceChildren();
	return add(node, children);
}

const called = (control) => control.ariaLabel ?? (control.closest("label") ?? control).firstChild?.textContent;

/** Gives the focus to the control of a name in a node. */
export const focusOn = (node, name) => [...node.querySelectorAll("input, select, button")].find(
	(each) => called(each) === name)?.focus({ preventScroll: true });

/** Changes a node; a control in it that has the focus leaves it to the new one of its name. */
export function keepFocus(node, change) {
	const name = node.contains(document.activeElement) && called(document.activeElement);
	change();
	if (name) focusOn(node, name);
}

/** As fill(), with keepFocus(). */
export const refill = (node, ...children) => keepFocus(node, () => fill(node, ...children));

export function copyButton(text, label) {
	const button = h("button.quiet.small", { type: "button", "aria-label": label, text: "Copy",
		onblur: () => (button.textContent = "Copy"),
		async onclick() {
			button.textContent = await navigator.clipboard?.writeText(text).then(() => "Copied",
				() => "Not copied") ?? "Not copied";
		} });
	return button;
}

/** Makes screen readers read a sentence. */
export function announce(sentence) {
	const region = document.getElementById("announcer");
	if (region && region.textContent !== sentence) region.textContent = sentence;
}

/**
 * A row of buttons of which one is pressed.
 * @param label of the group
 * @param choices value and text
 */
export function segmented(label, choices, value, onchange) {
	const group = h("div.segmented", { role: "group", "aria-label": label });
	const set = (chosen) => {
		for (const button of group.children) {
			button.ariaPressed = button.dataset.value === chosen;
		}
	};
	for (const [name, text] of choices) {
		group.append(h("button", {
			type: "button", text, dataset: { value: name },
			onclick: () => { set(name); onchange(name); },
		}));
	}
	set(value);
	group.set = set;
	return group;
}

/** A select with its label. Choices: value and text. */
export function select(label, choices, value, onchange) {
	const node = h("select", { onchange: () => onchange(node.value) });
	const wrap = h("label.field", h("span", label), node);
	wrap.select = node;
	wrap.set = (all, chosen) => {
		fill(node, all.map(([v, text]) => h("option", { value: v, text })));
		node.value = chosen;
	};
	wrap.set(choices, value);
	return wrap;
}
