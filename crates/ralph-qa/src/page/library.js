// What Rust calls. See `page.rs` for the contract.

const library = {
  /** The document that this library is for. */
  document: theDocument,
  /** The element that the last `ready` found. */
  chosen: null,
  ready,
  focus,
  fill,
  choose: chooseOptions,
  check,
  outline,
  settle,
  unsettle,
  boxes,
};

Object.defineProperty(globalThis, "ralphPage", { value: library, configurable: true, writable: false });
