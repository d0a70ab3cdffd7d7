/* Elements without markup: whatever comes from telemetry becomes text or an attribute's value. */

const SVG = "http://www.w3.org/2000/svg";

function apply(node, props) {
	for (const [key, value] of Object.entries(props ?? {})) {
		if (value === undefined || value === null || value === false) continue;
		if (key === "text") node.textContent = value;
		else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k,
			v);
		else if (key === "dataset") Object.assign(node.dataset, value);
		else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
		else if (key === "value" || key === "checked" || key === "disabled") node[key] = value;
		else node.setAttribute(key, value === true ? "" : value);
	}
}

function add(node, children) {
	for (const child of children.flat(Infinity)) {
		if (child === undefined || child === null || child === false) continue;
		node.append(child instanceof Node ? child : String(child));
	}
	return node;
}

function make(node, classes, [props, ...children]) {
	if (classes.length > 0) node.setAttribute("class", classes.join(" "));
	const given = props && Object.getPrototypeOf(props) === Object.prototype;
	if (given) apply(node, props);
	return add(node, given ? children : [props, ...children]);
}

/**
 * An HTML element of a tag, its classes ("p.muted"), properties and children. Properties may be
 * missing; they are `text`, `style` (an object), `dataset`, `on<event>`, else attributes; null,
 * undefined and false leave an attribute or a child out.
 */
export function h(tag, ...rest) {
	const [name, ...classes] = tag.split(".");
	return make(document.createElement(name), classes, rest);
}

/** The same for SVG. */
export function s(tag, ...rest) {
	const [name, ...classes] = tag.split(".");
	return make(document.createElementNS(SVG, name), classes, rest);
}

/** Replaces all children. */
export function fill(node, ...children) {
	node.replaceChildren();
	return add(node, children);
}

/** A button that copies text and says so for a moment. */
export function copyButton(text, label) {
	const button = h("button", { type: "button", class: "quiet small", "aria-label": label });
	button.textContent = "Copy";
	button.addEventListener("click", async () => {
		button.textContent = (await copied(text)) ? "Copied" : "Not copied";
		button.addEventListener("blur", () => (button.textContent = "Copy"), { once: true });
	});
	return button;
}

async function copied(text) {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		return false;
	}
}

/** Says a sentence to screen readers. */
export function announce(sentence) {
	const region = document.getElementById("announcer");
	if (region && region.textContent !== sentence) region.textContent = sentence;
}

/**
 * A row of exclusive choices.
 * @param {string} label of the group
 * @param {Array<[string, string]>} choices value and text
 */
export function segmented(label, choices, value, onchange) {
	const group = h("div.segmented", { role: "group", "aria-label": label });
	const set = (chosen) => {
		for (const button of group.children) {
			button.setAttribute("aria-pressed", String(button.dataset.value === chosen));
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
	fill(node, choices.map(([v, text]) => h("option", { value: v, text })));
	node.value = value;
	const wrap = h("label.field", h("span", label), node);
	wrap.select = node;
	return wrap;
}
