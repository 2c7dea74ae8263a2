// What a Code Mode program expects beside the language that goja speaks. The
// value of this script is a function: it gets the host's functions, installs
// the globals, and returns the ToolCallError class.
(function (host) {
const G = globalThis;
const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, create } = Object;
const hidden = (o, name, value) => defineProperty(o, name, { value, writable: true, configurable: true, enumerable: false });
const lacks = (o, methods) => {
	for (const name of Reflect.ownKeys(methods)) if (!(name in o)) hidden(o, name, methods[name]);
};
const fn = (f, what) => {
	if (typeof f !== 'function') throw new TypeError(`${what || String(f)} is not a function`);
	return f;
};

// Well-known symbols that lowered syntax and hand-written iterators use.
for (const name of ['asyncIterator', 'dispose', 'asyncDispose']) {
	if (!Symbol[name]) defineProperty(Symbol, name, { value: Symbol('Symbol.' + name) });
}

// ---- errors
class ToolCallError extends Error {
	constructor(toolName, message) {
		super(message);
		defineProperty(this, 'toolName', { value: toolName, enumerable: true, configurable: true, writable: false });
	}
}
defineProperty(ToolCallError.prototype, 'name', { value: 'ToolCallError', configurable: true, writable: true });

class SuppressedError extends Error {
	constructor(error, suppressed, message) {
		super(message);
		hidden(this, 'error', error);
		hidden(this, 'suppressed', suppressed);
	}
}
hidden(SuppressedError.prototype, 'name', 'SuppressedError');

const codes = { IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12, InvalidCharacterError: 5,
	InvalidAccessError: 15, TypeMismatchError: 17, AbortError: 20, QuotaExceededError: 22, TimeoutError: 23, DataCloneError: 25 };
class DOMException extends Error {
	#name;
	constructor(message = '', options = 'Error') {
		super(message);
		this.#name = typeof options === 'object' && options !== null ? String(options.name ?? 'Error') : String(options);
		if (options !== null && typeof options === 'object' && 'cause' in options) hidden(this, 'cause', options.cause);
	}
	get name() { return this.#name; }
	get code() { return codes[this.#name] ?? 0; }
}
lacks(Error, { isError: (e) => typeof e === 'object' && e !== null && (e instanceof Error) });
if (!Error.captureStackTrace) hidden(Error, 'captureStackTrace', (o) => { hidden(o, 'stack', new Error().stack); });

// ---- iterators
const IteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
if (!G.Iterator) {
	const Iterator = function Iterator() {
		if (new.target === undefined || new.target === Iterator) throw new TypeError('Iterator is an abstract class');
	};
	defineProperty(Iterator, 'prototype', { value: IteratorPrototype, writable: false });
	hidden(IteratorPrototype, 'constructor', Iterator);
	hidden(G, 'Iterator', Iterator);
}
const HelperPrototype = create(IteratorPrototype, { [Symbol.toStringTag]: { value: 'Iterator Helper', configurable: true } });
// helper wraps a generator so that return() also closes what it reads from.
const helper = (source, make) => {
	const next = source.next;
	let open = true;
	const it = { [Symbol.iterator]() { return this; }, next: () => next.call(source),
		return() { if (open) { open = false; source.return?.(); } return { value: undefined, done: true }; } };
	const gen = make(it);
	const out = create(HelperPrototype);
	hidden(out, 'next', () => gen.next());
	hidden(out, 'return', (v) => { it.return(); return gen.return(v); });
	return out;
};
const record = (o) => {
	if (o === null || typeof o !== 'object' && typeof o !== 'function') throw new TypeError('Iterator helper called on a value that is not an object');
	const next = o.next;
	return { [Symbol.iterator]() { return this; }, next: () => next.call(o), return: () => { o.return?.(); return { value: undefined, done: true }; } };
};
const count = (n) => {
	n = Number(n);
	if (Number.isNaN(n) || n < 0) throw new RangeError(`${n} must be positive`);
	return Math.trunc(n);
};
const flattenable = (o) => {
	const method = o?.[Symbol.iterator];
	if (method === undefined || method === null) return record(o);
	return method.call(o);
};
lacks(IteratorPrototype, {
	map(f) { fn(f); return helper(this, function* (it) { let i = 0; for (const x of it) yield f(x, i++); }); },
	filter(f) { fn(f); return helper(this, function* (it) { let i = 0; for (const x of it) if (f(x, i++)) yield x; }); },
	take(n) {
		n = count(n);
		return helper(this, function* (it) { let left = n; if (left <= 0) { it.return(); return; } for (const x of it) { yield x; if (--left <= 0) return; } });
	},
	drop(n) { n = count(n); return helper(this, function* (it) { let left = n; for (const x of it) if (left > 0) left--; else yield x; }); },
	flatMap(f) {
		fn(f);
		return helper(this, function* (it) {
			let i = 0;
			for (const x of it) {
				const inner = f(x, i++);
				if (typeof inner !== 'object' && typeof inner !== 'function' || inner === null) throw new TypeError('flatMap: the result is not an iterable');
				const source = flattenable(inner);
				yield* { [Symbol.iterator]: () => source };
			}
		});
	},
	reduce(f, ...init) {
		fn(f);
		let acc = init[0], first = init.length === 0, i = 0;
		for (const x of record(this)) {
			if (first) { acc = x; first = false; } else acc = f(acc, x, i);
			i++;
		}
		if (first) throw new TypeError('Reduce of empty iterator with no initial value');
		return acc;
	},
	toArray() { return [...record(this)]; },
	forEach(f) { fn(f); let i = 0; for (const x of record(this)) f(x, i++); },
	some(f) { fn(f); let i = 0; for (const x of record(this)) if (f(x, i++)) return true; return false; },
	every(f) { fn(f); let i = 0; for (const x of record(this)) if (!f(x, i++)) return false; return true; },
	find(f) { fn(f); let i = 0; for (const x of record(this)) if (f(x, i++)) return x; return undefined; },
	[Symbol.dispose]() { this.return?.(); },
});
lacks(G.Iterator, {
	from(o) {
		const it = flattenable(o);
		if (it instanceof G.Iterator) return it;
		const out = create(IteratorPrototype);
		hidden(out, 'next', () => it.next());
		hidden(out, 'return', (v) => it.return ? it.return(v) : { value: v, done: true });
		return out;
	},
	concat(...items) { return (function* () { for (const o of items) yield* o; })(); },
});

// ---- arrays, objects, promises, strings
lacks(Array, {
	async fromAsync(items, f, self) {
		if (f !== undefined) fn(f);
		const out = typeof this === 'function' && this !== Array ? new this() : [];
		let i = 0;
		const add = async (x) => { out[i] = f ? await f.call(self, x, i) : x; i++; };
		if (items[Symbol.asyncIterator] !== undefined || items[Symbol.iterator] !== undefined) {
			const asynchronous = items[Symbol.asyncIterator] !== undefined;
			const it = asynchronous ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
			for (;;) {
				const step = asynchronous ? await it.next() : it.next();
				if (step.done) break;
				try { await add(await step.value); } catch (e) { if (it.return) await it.return(); throw e; }
			}
		} else {
			for (let k = 0, n = Math.trunc(Number(items.length)) || 0; k < n; k++) await add(await items[k]);
		}
		out.length = i;
		return out;
	},
});
const group = (items, f, put) => { fn(f); let i = 0; for (const x of items) put(f(x, i++), x); };
lacks(Object, {
	groupBy(items, f) {
		const out = create(null);
		group(items, f, (k, x) => { k = typeof k === 'symbol' ? k : String(k); if (k in out) out[k][out[k].length] = x; else out[k] = [x]; });
		return out;
	},
});
lacks(Map, {
	groupBy(items, f) {
		const out = new Map();
		group(items, f, (k, x) => { const g = out.get(k); if (g) g[g.length] = x; else out.set(k, [x]); });
		return out;
	},
});
lacks(Map.prototype, {
	getOrInsert(k, v) { if (!this.has(k)) this.set(k, v); return this.get(k); },
	getOrInsertComputed(k, f) { fn(f); if (!this.has(k)) this.set(k, f(k)); return this.get(k); },
});
lacks(Promise, {
	withResolvers() { let resolve, reject; const promise = new this((a, b) => { resolve = a; reject = b; }); return { promise, resolve, reject }; },
	try(f, ...args) { return new this((resolve) => resolve(f(...args))); },
});
const units = (s) => {
	// One pass over the units: goja's engine cannot match half a pair.
	const bad = [];
	for (let i = 0; i < s.length; i++) {
		const c = s.charCodeAt(i);
		if (c < 0xD800 || c > 0xDFFF) continue;
		const d = c < 0xDC00 ? s.charCodeAt(i + 1) : 0;
		if (d >= 0xDC00 && d <= 0xDFFF) i++; else bad[bad.length] = i;
	}
	return bad;
};
lacks(String.prototype, {
	isWellFormed() { return units(String(this)).length === 0; },
	toWellFormed() {
		const s = String(this);
		let out = '', from = 0;
		for (const i of units(s)) { out += s.slice(from, i) + '\uFFFD'; from = i + 1; }
		return out + s.slice(from);
	},
});
lacks(Math, {
	sumPrecise(items) { let s = 0, c = 0; for (const x of items) { const t = s + x; c += Math.abs(s) >= Math.abs(x) ? s - t + x : x - t + s; s = t; } return s + c; },
});

// ---- regular expressions: goja's engine has no \p{…}, no flags d and v, no modifiers
const NativeRegExp = RegExp;
lacks(NativeRegExp, {
	escape(s) {
		if (typeof s !== 'string') throw new TypeError('RegExp.escape needs a string');
		let out = '';
		for (const c of s) {
			const n = c.codePointAt(0);
			if (out === '' && /[0-9A-Za-z]/.test(c)) out += '\\x' + n.toString(16).padStart(2, '0');
			else if ('^$\\.*+?()[]{}|/'.includes(c)) out += '\\' + c;
			else if (',-=<>#&!%:;@~\'`"'.includes(c)) out += '\\x' + n.toString(16).padStart(2, '0');
			else if (c === '\n') out += '\\n'; else if (c === '\t') out += '\\t'; else if (c === '\r') out += '\\r';
			else if (/\s/.test(c)) out += '\\u' + n.toString(16).padStart(4, '0');
			else out += c;
		}
		return out;
	},
});
const propertyEscape = /\\([pP])\{([^}]*)\}/;
const translate = (source, flags) => {
	let out = '', depth = 0;
	for (let i = 0; i < source.length; i++) {
		const c = source[i];
		if (c === '\\') {
			const m = (source[i + 1] === 'p' || source[i + 1] === 'P') && propertyEscape.exec(source.slice(i, i + 80));
			if (m && m.index === 0) {
				const set = host.ranges(m[2]);
				if (!set) throw new SyntaxError(`Invalid regular expression: /${source}/${flags}: Invalid property name`);
				if (depth > 0) {
					if (m[1] === 'P') throw new SyntaxError(`Invalid regular expression: /${source}/${flags}: \\P inside a class is not supported here`);
					out += set;
				} else out += (m[1] === 'P' ? '[^' : '[') + set + ']';
				i += m[0].length - 1;
				continue;
			}
			out += c + (source[++i] ?? '');
			continue;
		}
		if (flags.includes('v') && depth > 0 && (source.startsWith('--', i) || source.startsWith('&&', i) || c === '[')) {
			const end = source.indexOf(']', i);
			const inner = /^--\[([^\[\]]*)\]\]/.exec(source.slice(i));
			if (inner && end > 0) {
				const start = out.lastIndexOf('[');
				out = out.slice(0, start) + '(?:(?![' + inner[1] + '])' + out.slice(start) + '])';
				i += inner[0].length - 1;
				depth = 0;
				continue;
			}
			throw new SyntaxError(`Invalid regular expression: /${source}/${flags}: this set operation is not supported here`);
		}
		if (c === '[') depth = 1; else if (c === ']') depth = 0;
		out += c;
	}
	return out;
};
const shown = (r, source, flags, extra) => {
	defineProperty(r, 'source', { value: source, configurable: true });
	defineProperty(r, 'flags', { value: flags, configurable: true });
	for (const name in extra) defineProperty(r, name, { value: true, configurable: true });
};
const nativeExec = NativeRegExp.prototype.exec;
function PatchedRegExp(pattern, flags) {
	const isRegExp = pattern instanceof NativeRegExp;
	if (!new.target && isRegExp && flags === undefined) return pattern;
	let source = isRegExp ? pattern.source : pattern, f = flags === undefined ? (isRegExp ? pattern.flags : '') : String(flags);
	if (source === undefined) source = '';
	source = String(source);
	const target = new.target && new.target !== PatchedRegExp ? new.target : NativeRegExp;
	const unicode = f.includes('u') || f.includes('v');
	const special = f.includes('d') || f.includes('v') || unicode && source.includes('\\p') || unicode && source.includes('\\P');
	if (!special) return Reflect.construct(NativeRegExp, [source, f], target);
	const native = f.replace('d', '').replace('v', 'u');
	const text = unicode ? translate(source, f) : source;
	const r = Reflect.construct(NativeRegExp, [text, native], target);
	shown(r, source, f, { ...(f.includes('d') && { hasIndices: 1 }), ...(f.includes('v') && { unicodeSets: 1 }) });
	if (f.includes('d')) {
		hidden(r, 'exec', function exec(s) {
			s = String(s);
			const m = nativeExec.call(this, s);
			if (m) {
				const at = host.indices(text, native, s, m.index);
				if (!at) throw new SyntaxError('the d flag is not supported for this regular expression');
				m.indices = at;
				m.indices.groups = undefined;
				if (m.groups) {
					m.indices.groups = create(null);
					for (const name of Object.keys(m.groups)) m.indices.groups[name] = at.named[name];
				}
				delete at.named;
			}
			return m;
		});
	}
	return r;
}
defineProperty(PatchedRegExp, 'name', { value: 'RegExp', writable: false });
defineProperty(PatchedRegExp, 'length', { value: 2 });
defineProperty(PatchedRegExp, 'prototype', { value: NativeRegExp.prototype, writable: false });
hidden(NativeRegExp.prototype, 'constructor', PatchedRegExp);
hidden(PatchedRegExp, 'escape', NativeRegExp.escape);
defineProperty(PatchedRegExp, Symbol.species, { get() { return this; }, configurable: true });
defineProperty(NativeRegExp, Symbol.hasInstance, { value: (o) => Function.prototype[Symbol.hasInstance].call(PatchedRegExp, o), configurable: true });

// ---- timers and tasks
const queueMicrotask = (f) => { fn(f, 'The callback'); Promise.resolve().then(() => { f(); }); };

// ---- binary and text
class TextEncoder {
	get encoding() { return 'utf-8'; }
	encode(s = '') { return new Uint8Array(host.encode(String(s))); }
	encodeInto(s, into) { const b = this.encode(s).subarray(0, into.length); into.set(b); return { read: s.length, written: b.length }; }
}
const encodings = { 'utf-8': 'utf-8', utf8: 'utf-8', 'unicode-1-1-utf-8': 'utf-8', 'utf-16le': 'utf-16le', 'utf-16': 'utf-16le',
	latin1: 'latin1', 'iso-8859-1': 'latin1', ascii: 'latin1', 'us-ascii': 'latin1', 'windows-1252': 'latin1' };
class TextDecoder {
	#encoding; #fatal; #keep; #rest = null;
	constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
		const e = encodings[String(label).trim().toLowerCase()];
		if (!e) throw new RangeError(`The encoding label provided ('${label}') is not supported`);
		this.#encoding = e; this.#fatal = !!fatal; this.#keep = !!ignoreBOM;
	}
	get encoding() { return this.#encoding === 'latin1' ? 'windows-1252' : this.#encoding; }
	get fatal() { return this.#fatal; }
	get ignoreBOM() { return this.#keep; }
	decode(input, { stream = false } = {}) {
		let bytes = input === undefined ? new Uint8Array(0) : input instanceof ArrayBuffer ? new Uint8Array(input) : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
		if (this.#rest) {
			const all = new Uint8Array(this.#rest.length + bytes.length);
			all.set(this.#rest); all.set(bytes, this.#rest.length);
			bytes = all; this.#rest = null;
		}
		if (stream && this.#encoding === 'utf-8') {
			// An unfinished character at the end waits for the next piece.
			let i = bytes.length, n = 0;
			while (i > 0 && n < 3 && (bytes[i - 1] & 0xC0) === 0x80) { i--; n++; }
			const lead = i > 0 ? bytes[i - 1] : 0, need = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
			if (need > n) { this.#rest = bytes.slice(i - 1); bytes = bytes.subarray(0, i - 1); }
		}
		let s = host.decode(bytes, this.#encoding, this.#fatal);
		if (!this.#keep && s.charCodeAt(0) === 0xFEFF) s = s.slice(1);
		return s;
	}
}
const latin = (name, r) => { if (r === null) throw new DOMException(`${name}: the string has characters it cannot convert`, 'InvalidCharacterError'); return r; };
const atob = (s) => latin('atob', host.atob(String(s)));
const btoa = (s) => latin('btoa', host.btoa(String(s)));

// ---- events and aborting
class Event {
	constructor(type, init = {}) {
		this.type = String(type); this.bubbles = !!init.bubbles; this.cancelable = !!init.cancelable;
		this.defaultPrevented = false; this.target = null; this.currentTarget = null; this.timeStamp = host.now();
		hidden(this, 'stopped', false);
	}
	preventDefault() { if (this.cancelable) this.defaultPrevented = true; }
	stopPropagation() {}
	stopImmediatePropagation() { this.stopped = true; }
}
class CustomEvent extends Event { constructor(type, init = {}) { super(type, init); this.detail = init.detail ?? null; } }
class EventTarget {
	#listeners = new Map();
	addEventListener(type, f, options) {
		if (f === null || f === undefined) return;
		const list = this.#listeners.get(type) ?? [];
		if (list.some((l) => l.f === f)) return;
		const o = typeof options === 'object' && options !== null ? options : {};
		if (o.signal?.aborted) return;
		this.#listeners.set(type, [...list, { f, once: !!o.once }]);
		o.signal?.addEventListener('abort', () => this.removeEventListener(type, f));
	}
	removeEventListener(type, f) { this.#listeners.set(type, (this.#listeners.get(type) ?? []).filter((l) => l.f !== f)); }
	dispatchEvent(e) {
		e.target = e.currentTarget = this;
		const on = this['on' + e.type];
		if (typeof on === 'function') on.call(this, e);
		for (const l of this.#listeners.get(e.type) ?? []) {
			if (e.stopped) break;
			if (l.once) this.removeEventListener(e.type, l.f);
			typeof l.f === 'function' ? l.f.call(this, e) : l.f.handleEvent(e);
		}
		return !e.defaultPrevented;
	}
}
let abort;
class AbortSignal extends EventTarget {
	#aborted = false; #reason = undefined;
	onabort = null;
	static { abort = (s, reason) => {
		if (s.#aborted) return;
		s.#aborted = true;
		s.#reason = reason === undefined ? new DOMException('This operation was aborted', 'AbortError') : reason;
		s.dispatchEvent(new Event('abort'));
	}; }
	get aborted() { return this.#aborted; }
	get reason() { return this.#reason; }
	throwIfAborted() { if (this.#aborted) throw this.#reason; }
	static abort(reason) { const s = new AbortSignal(); abort(s, reason); return s; }
	static timeout(ms) {
		const s = new AbortSignal();
		host.setTimeout(() => abort(s, new DOMException('The operation was aborted due to timeout', 'TimeoutError')), ms);
		return s;
	}
	static any(signals) {
		const s = new AbortSignal();
		for (const one of signals) {
			if (one.aborted) { abort(s, one.reason); break; }
			one.addEventListener('abort', () => abort(s, one.reason));
		}
		return s;
	}
}
class AbortController {
	#signal = new AbortSignal();
	get signal() { return this.#signal; }
	abort(reason) { abort(this.#signal, reason); }
}

// ---- structuredClone
const isInstance = (o, C) => o instanceof C;
const clone = (v, seen) => {
	if (typeof v === 'function' || typeof v === 'symbol') throw new DOMException(`${String(v)} could not be cloned.`, 'DataCloneError');
	if (typeof v !== 'object' || v === null) return v;
	if (seen.has(v)) return seen.get(v);
	let out;
	const keep = (o) => { seen.set(v, o); return o; };
	if (isInstance(v, Date)) return keep(new Date(v.getTime()));
	if (isInstance(v, NativeRegExp)) return keep(new PatchedRegExp(v.source, v.flags));
	if (isInstance(v, Boolean) || isInstance(v, Number) || isInstance(v, String)) return keep(Object(v.valueOf()));
	if (isInstance(v, ArrayBuffer)) return keep(v.slice(0));
	if (ArrayBuffer.isView(v)) {
		const buffer = clone(v.buffer, seen);
		return keep(isInstance(v, DataView) ? new DataView(buffer, v.byteOffset, v.byteLength) : new v.constructor(buffer, v.byteOffset, v.length));
	}
	if (isInstance(v, Map)) { out = keep(new Map()); for (const [k, x] of [...v]) out.set(clone(k, seen), clone(x, seen)); return out; }
	if (isInstance(v, Set)) { out = keep(new Set()); for (const x of [...v]) out.add(clone(x, seen)); return out; }
	if (isInstance(v, Error)) {
		const C = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError }[v.name] ?? Error;
		out = keep(create(C.prototype));
		out = keep(new C(v.message));
		hidden(out, 'stack', v.stack);
		if ('cause' in v) hidden(out, 'cause', clone(v.cause, seen));
		return out;
	}
	if (isInstance(v, Promise) || isInstance(v, WeakMap) || isInstance(v, WeakSet)) throw new DOMException('#<' + v.constructor.name + '> could not be cloned.', 'DataCloneError');
	out = keep(Array.isArray(v) ? new Array(v.length) : {});
	for (const k of Object.keys(v)) {
		const x = clone(v[k], seen);
		if (k === '__proto__') defineProperty(out, k, { value: x, writable: true, configurable: true, enumerable: true }); else out[k] = x;
	}
	return out;
};
const structuredClone = (...args) => {
	if (args.length === 0) throw new TypeError('structuredClone: 1 argument required');
	return clone(args[0], new Map());
};

// ---- weak references: strong here, which the standard allows
class WeakRef {
	#target;
	constructor(target) {
		if (typeof target !== 'object' && typeof target !== 'function' && typeof target !== 'symbol' || target === null) throw new TypeError('WeakRef: invalid target');
		this.#target = target;
	}
	deref() { return this.#target; }
	get [Symbol.toStringTag]() { return 'WeakRef'; }
}
class FinalizationRegistry {
	constructor(f) { fn(f); }
	register() {}
	unregister() { return false; }
	get [Symbol.toStringTag]() { return 'FinalizationRegistry'; }
}

// ---- shared memory: one thread, so plain memory does
class SharedArrayBuffer extends ArrayBuffer { get [Symbol.toStringTag]() { return 'SharedArrayBuffer'; } }
const step = (f) => (a, i, v) => { const old = a[i]; a[i] = f(old, v); return old; };
const Atomics = create(Object.prototype, { [Symbol.toStringTag]: { value: 'Atomics', configurable: true } });
lacks(Atomics, {
	load: (a, i) => a[i], store: (a, i, v) => { a[i] = v; return v; }, exchange: step((o, v) => v),
	add: step((o, v) => o + v), sub: step((o, v) => o - v), and: step((o, v) => o & v), or: step((o, v) => o | v), xor: step((o, v) => o ^ v),
	compareExchange: (a, i, e, v) => { const old = a[i]; if (old === e) a[i] = v; return old; }, isLockFree: () => true, notify: () => 0,
	wait: () => { throw new TypeError('Atomics.wait cannot be called here'); },
});

// ---- crypto and time
const crypto = { getRandomValues: (a) => { if (a.byteLength > 65536) throw new DOMException('too many bytes', 'QuotaExceededError'); return host.random(a); }, randomUUID: () => host.uuid() };
const performance = { now: () => host.now(), timeOrigin: Date.now(), mark() {}, measure() {} };

// ---- en-US formatting
const english = (locales) => {
	for (const l of locales === undefined ? [] : [].concat(locales)) {
		if (typeof l !== 'string') throw new TypeError('Incorrect locale information provided');
		if (!/^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/.test(l)) throw new RangeError('Incorrect locale information provided');
		if (!/^en\b/i.test(l)) throw new RangeError(`Only the locale en-US is available here, not ${l}`);
	}
	return 'en-US';
};
const symbols = { USD: '$', EUR: '€', GBP: '£', JPY: '¥', INR: '₹', CNY: 'CN¥', KRW: '₩', BRL: 'R$', CAD: 'CA$', AUD: 'A$', MXN: 'MX$', ILS: '₪', VND: '₫', NZD: 'NZ$' };
// decimal rounds half away from zero on the shortest decimal form, as ICU does.
const decimal = (x, digits) => {
	const [m, e] = String(x).split('e');
	const shift = (n) => Number(m + 'e' + (Number(e ?? 0) + n));
	const n = Math.round(shift(digits));
	if (Number.isSafeInteger(n)) {
		const s = String(n).padStart(digits + 1, '0');
		return digits ? s.slice(0, -digits) + '.' + s.slice(-digits) : s;
	}
	return x.toFixed(Math.min(digits, 100));
};
const grouped = (s) => { let out = ''; for (let i = s.length; i > 0; i -= 3) out = s.slice(Math.max(0, i - 3), i) + (out && ',' + out); return out; };
class NumberFormat {
	#o;
	constructor(locales, options = {}) {
		const o = { locale: english(locales), numberingSystem: 'latn', style: 'decimal', useGrouping: true, notation: 'standard', signDisplay: 'auto', currencyDisplay: 'symbol', unitDisplay: 'short', compactDisplay: 'short', minimumIntegerDigits: 1, ...options };
		if (o.style === 'currency' && !o.currency) throw new TypeError('Currency code is required with currency style.');
		const whole = o.currency === 'JPY' || o.currency === 'KRW' || o.currency === 'VND' ? 0 : 2;
		const [lo, hi] = o.style === 'currency' ? [whole, whole] : o.style === 'percent' ? [0, 0] : o.notation === 'compact' ? [0, 0] : [0, 3];
		for (const k of ['minimumFractionDigits', 'maximumFractionDigits']) {
			if (o[k] !== undefined && !(o[k] >= 0 && o[k] <= 100)) throw new RangeError(`${k} value is out of range.`);
		}
		o.compactDefault = o.notation === 'compact' && options.minimumFractionDigits === undefined && options.maximumFractionDigits === undefined && options.maximumSignificantDigits === undefined;
		o.minimumFractionDigits = options.minimumFractionDigits ?? Math.min(lo, options.maximumFractionDigits ?? lo);
		o.maximumFractionDigits = options.maximumFractionDigits ?? Math.max(hi, o.minimumFractionDigits);
		if (o.minimumFractionDigits > o.maximumFractionDigits) throw new RangeError('maximumFractionDigits value is out of range.');
		this.#o = o;
		hidden(this, 'format', (x) => this.#format(x));
	}
	#digits(x) {
		const o = this.#o;
		if (o.maximumSignificantDigits || o.minimumSignificantDigits) {
			const max = o.maximumSignificantDigits ?? 21, min = o.minimumSignificantDigits ?? 1;
			const exponent = x === 0 ? 0 : Math.floor(Math.log10(x));
			let s = decimal(x, Math.min(100, Math.max(0, max - 1 - exponent)));
			if (max - 1 - exponent < 0) { const p = 10 ** (exponent - max + 1); s = String(Math.round(x / p) * p); }
			let [i, f = ''] = s.split('.');
			f = f.replace(/0+$/, '');
			const have = (i === '0' ? '' : i).length + (i === '0' ? f.replace(/^0+/, '').length : f.length);
			f += '0'.repeat(Math.max(0, min - have));
			return [i, f];
		}
		let [i, f = ''] = (typeof x === 'bigint' ? String(x) : decimal(x, o.maximumFractionDigits)).split('.');
		while (f.length > o.minimumFractionDigits && f.endsWith('0')) f = f.slice(0, -1);
		return [i, f.padEnd(o.minimumFractionDigits, '0')];
	}
	#format(value) {
		const o = this.#o;
		let x = typeof value === 'bigint' ? value : Number(value), suffix = '';
		const negative = x < 0 || Object.is(x, -0);
		if (negative) x = -x;
		let text;
		if (typeof x === 'number' && !Number.isFinite(x)) text = Number.isNaN(x) ? 'NaN' : '∞';
		else {
			if (o.style === 'percent') x = typeof x === 'bigint' ? x * 100n : Number(decimal(x, 15)) * 100;
			if (o.notation === 'compact') {
				x = Number(x);
				const steps = o.compactDisplay === 'long' ? [[1e12, ' trillion'], [1e9, ' billion'], [1e6, ' million'], [1e3, ' thousand']] : [[1e12, 'T'], [1e9, 'B'], [1e6, 'M'], [1e3, 'K']];
				for (const [n, s] of steps) if (x >= n) { x /= n; suffix = s; break; }
				if (o.compactDefault) x = x < 100 ? Math.round(x * 10) / 10 : Math.round(x), x = x < 100 && x >= 10 ? Math.round(x) : x;
			}
			let [i, f] = o.compactDefault ? String(x).split('.') : this.#digits(x);
			f ??= '';
			i = i.padStart(o.minimumIntegerDigits, '0');
			if (o.useGrouping && o.useGrouping !== 'false' && !(o.notation === 'compact' && i.length < 5)) i = grouped(i);
			text = (f ? i + '.' + f : i) + suffix;
		}
		if (o.style === 'percent') text += '%';
		else if (o.style === 'currency') {
			if (o.currencyDisplay === 'code') text = o.currency + ' ' + text;
			else text = (symbols[o.currency] ?? o.currency + ' ') + text;
		} else if (o.style === 'unit') text += o.unitDisplay === 'long' ? ` ${o.unit}${text === '1' ? '' : 's'}` : ({ percent: '%', celsius: '°C', fahrenheit: '°F' }[o.unit] ?? ' ' + ({ kilobyte: 'kB', megabyte: 'MB', gigabyte: 'GB', byte: 'byte', kilometer: 'km', meter: 'm', second: 'sec', minute: 'min', hour: 'hr', mile: 'mi', kilogram: 'kg', gram: 'g', liter: 'L' }[o.unit] ?? o.unit));
		const zero = !/[1-9∞]/.test(text);
		if (negative && !(zero && o.signDisplay === 'negative') && o.signDisplay !== 'never') return o.style === 'currency' && o.currencySign === 'accounting' ? `(${text})` : '-' + text;
		if (!negative && (o.signDisplay === 'always' || o.signDisplay === 'exceptZero' && !zero)) return '+' + text;
		return text;
	}
	formatToParts(x) { return [{ type: 'literal', value: this.format(x) }]; }
	formatRange(a, b) { return this.format(a) + '–' + this.format(b); }
	resolvedOptions() { const { compactDefault, ...o } = this.#o; return o; }
	static supportedLocalesOf(l) { return [].concat(l ?? []).filter((x) => /^en\b/i.test(x)); }
}
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const two = (n) => String(n).padStart(2, '0');
const dateStyles = { full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' }, medium: { year: 'numeric', month: 'short', day: 'numeric' }, short: { year: '2-digit', month: 'numeric', day: 'numeric' } };
const timeStyles = { full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' }, medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' }, short: { hour: 'numeric', minute: '2-digit' } };
class DateTimeFormat {
	#o;
	constructor(locales, options = {}, defaults = 'date') {
		english(locales);
		let o = { ...options };
		const asked = ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'second', 'fractionalSecondDigits', 'dayPeriod'].some((k) => o[k] !== undefined);
		if (o.dateStyle || o.timeStyle) o = { ...dateStyles[o.dateStyle], ...timeStyles[o.timeStyle], ...o };
		else if (!asked || defaults === 'date!' && !o.weekday && !o.year && !o.month && !o.day || defaults === 'time!' && !o.hour && !o.minute && !o.second) {
			if (defaults !== 'time' && defaults !== 'time!') Object.assign(o, { year: 'numeric', month: 'numeric', day: 'numeric' });
			if (defaults === 'all' || defaults === 'time' || defaults === 'time!') Object.assign(o, { hour: 'numeric', minute: '2-digit', second: '2-digit' });
		}
		if (o.timeZone !== undefined && host.zone(0, String(o.timeZone)) === null) throw new RangeError(`Invalid time zone specified: ${o.timeZone} (a program knows UTC and the local zone)`);
		this.#o = o;
		hidden(this, 'format', (d) => this.#format(d));
	}
	#format(date) {
		const time = date === undefined ? Date.now() : Number(date), o = this.#o;
		if (!Number.isFinite(time)) throw new RangeError('Invalid time value');
		const [Y, M, D, h, m, s, ms, w, zone, offset] = host.zone(time, o.timeZone === undefined ? undefined : String(o.timeZone));
		const year = o.year && (o.year === '2-digit' ? two(Y % 100) : String(Y));
		const day = o.day && (o.day === '2-digit' ? two(D) : String(D));
		const weekday = o.weekday && (o.weekday === 'long' ? days[w] : o.weekday === 'narrow' ? days[w][0] : days[w].slice(0, 3));
		let text = '';
		if (o.month === 'long' || o.month === 'short' || o.month === 'narrow') {
			const name = o.month === 'long' ? months[M - 1] : o.month === 'short' ? months[M - 1].slice(0, 3) : months[M - 1][0];
			text = [weekday, [name, day].filter(Boolean).join(' ')].filter(Boolean).join(', ');
			if (year) text += (day ? ', ' : ' ') + year;
		} else {
			const month = o.month && (o.month === '2-digit' ? two(M) : String(M));
			text = [weekday, [month, day, year].filter(Boolean).join('/')].filter(Boolean).join(', ');
		}
		const twelve = o.hour12 ?? (o.hourCycle ? o.hourCycle === 'h12' || o.hourCycle === 'h11' : true);
		let clock = '';
		if (o.hour || o.minute || o.second) {
			const parts = [];
			if (o.hour) { const hour = twelve ? h % 12 || 12 : h; parts.push(o.hour === '2-digit' || !twelve ? two(hour) : String(hour)); }
			if (o.minute) parts.push(o.hour || o.second ? two(m) : String(m));
			if (o.second) parts.push(o.minute ? two(s) : String(s));
			clock = parts.join(':');
			if (o.fractionalSecondDigits) clock += '.' + String(ms).padStart(3, '0').slice(0, o.fractionalSecondDigits);
			if (o.hour && twelve) clock += h < 12 ? ' AM' : ' PM';
		}
		if (o.timeZoneName) {
			const sign = offset < 0 ? '-' : '+', a = Math.abs(offset);
			clock += ' ' + (/^[A-Z]+$/.test(zone) ? zone : 'GMT' + (a ? sign + Math.trunc(a / 60) + (a % 60 ? ':' + two(a % 60) : '') : ''));
		}
		const long = o.dateStyle === 'full' || o.dateStyle === 'long' || !o.dateStyle && o.month === 'long';
		return [text, clock.trim()].filter(Boolean).join(long ? ' at ' : ', ');
	}
	formatToParts(d) { return [{ type: 'literal', value: this.format(d) }]; }
	formatRange(a, b) { return this.format(a) + ' – ' + this.format(b); }
	resolvedOptions() { return { locale: 'en-US', calendar: 'gregory', numberingSystem: 'latn', timeZone: host.zone(0, undefined)[8], ...this.#o }; }
	static supportedLocalesOf(l) { return NumberFormat.supportedLocalesOf(l); }
}
const fold = (s, o) => {
	if (o.sensitivity === 'base' || o.sensitivity === 'accent') s = s.toLowerCase();
	if (o.sensitivity === 'base' || o.sensitivity === 'case') s = s.normalize('NFD').replace(/[\u0300-\u036f]/g, '');
	return s;
};
const plainCompare = String.prototype.localeCompare;
class Collator {
	constructor(locales, options = {}) {
		english(locales);
		const o = { locale: 'en-US', usage: 'sort', sensitivity: 'variant', numeric: false, caseFirst: 'false', ignorePunctuation: false, ...options };
		hidden(this, 'resolvedOptions', () => ({ ...o }));
		hidden(this, 'compare', (a, b) => {
			a = fold(String(a), o); b = fold(String(b), o);
			if (!o.numeric) return plainCompare.call(a, b);
			const x = a.split(/(\d+)/), y = b.split(/(\d+)/);
			for (let i = 0; i < Math.min(x.length, y.length); i++) {
				const n = i % 2 ? BigInt(x[i]) - BigInt(y[i]) : plainCompare.call(x[i], y[i]);
				if (n != 0) return n < 0 ? -1 : 1;
			}
			return Math.sign(x.length - y.length);
		});
	}
	static supportedLocalesOf(l) { return NumberFormat.supportedLocalesOf(l); }
}
class PluralRules {
	#ordinal;
	constructor(locales, options = {}) { english(locales); this.#ordinal = options.type === 'ordinal'; }
	select(n) {
		if (!this.#ordinal) return n === 1 ? 'one' : 'other';
		const t = n % 10, h = n % 100;
		return t === 1 && h !== 11 ? 'one' : t === 2 && h !== 12 ? 'two' : t === 3 && h !== 13 ? 'few' : 'other';
	}
}
class ListFormat {
	#o;
	constructor(locales, options = {}) { english(locales); this.#o = { type: 'conjunction', style: 'long', ...options }; }
	format(items) {
		const list = [...items], word = this.#o.type === 'disjunction' ? 'or' : this.#o.type === 'unit' ? '' : 'and';
		if (list.length < 2) return list.join('');
		if (!word) return list.join(', ');
		return list.length === 2 ? list.join(` ${word} `) : list.slice(0, -1).join(', ') + `, ${word} ` + list[list.length - 1];
	}
}
class RelativeTimeFormat {
	#auto;
	constructor(locales, options = {}) { english(locales); this.#auto = options.numeric === 'auto'; }
	format(value, unit) {
		unit = String(unit).replace(/s$/, '');
		const words = { day: ['yesterday', 'today', 'tomorrow'] }[unit] ?? [`last ${unit}`, `this ${unit}`, `next ${unit}`];
		if (this.#auto && (value === 0 || Math.abs(value) === 1) && unit !== 'hour' && unit !== 'minute' && unit !== 'second') return words[value + 1];
		const n = new NumberFormat().format(Math.abs(value)), noun = unit + (Math.abs(value) === 1 ? '' : 's');
		return value < 0 || Object.is(value, -0) ? `${n} ${noun} ago` : `in ${n} ${noun}`;
	}
}
const Intl = create(Object.prototype, { [Symbol.toStringTag]: { value: 'Intl', configurable: true } });
lacks(Intl, { NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat, RelativeTimeFormat, getCanonicalLocales: (l) => [].concat(l ?? []) });
hidden(Number.prototype, 'toLocaleString', function toLocaleString(locales, options) { return new NumberFormat(locales, options).format(Number(this)); });
hidden(BigInt.prototype, 'toLocaleString', function toLocaleString(locales, options) { return new NumberFormat(locales, options).format(BigInt(this)); });
for (const [name, defaults] of [['toLocaleString', 'all'], ['toLocaleDateString', 'date!'], ['toLocaleTimeString', 'time!']]) {
	hidden(Date.prototype, name, function (locales, options) {
		if (Number.isNaN(this.getTime())) return 'Invalid Date';
		return new DateTimeFormat(locales, options, defaults).format(this);
	});
}
const nativeLocaleCompare = plainCompare;
hidden(String.prototype, 'localeCompare', function localeCompare(other, locales, options) {
	if (locales === undefined && options === undefined) return nativeLocaleCompare.call(this, other);
	return new Collator(locales, options).compare(this, other);
});

for (const [name, value] of Object.entries({
	console: host.console, setTimeout: host.setTimeout, setInterval: host.setInterval, clearTimeout: host.clearTimer, clearInterval: host.clearTimer,
	setImmediate: (f, ...args) => host.setTimeout(f, 0, ...args), clearImmediate: host.clearTimer, queueMicrotask, structuredClone,
	TextEncoder, TextDecoder, atob, btoa, Event, CustomEvent, EventTarget, AbortController, AbortSignal, DOMException, SuppressedError,
	WeakRef, FinalizationRegistry, SharedArrayBuffer, Atomics, crypto, performance, Intl, RegExp: PatchedRegExp, ToolCallError,
})) {
	if (name === 'RegExp' || !(name in G)) hidden(G, name, value);
}
for (const name of ['setTimeout', 'setInterval']) defineProperty(G[name], 'name', { value: name });
return ToolCallError;
})
