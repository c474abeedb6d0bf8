// Functions of the DOM taken from its prototypes, once. A form with a field named "parentNode" or a picture named
// "querySelectorAll" replaces a property of its form or of the document, also in an isolated world; it can't replace
// these. Everything that may get a form or a document goes through them.

const uncurry = (method) => Function.prototype.call.bind(method);
const getterOf = (prototype, name) => uncurry(Object.getOwnPropertyDescriptor(prototype, name).get);
const methodOf = (prototype, name) => uncurry(prototype[name]);

const typeOfNode = getterOf(Node.prototype, "nodeType");
const lightParent = getterOf(Node.prototype, "parentNode");
const firstChildOf = getterOf(Node.prototype, "firstChild");
const nextSiblingOf = getterOf(Node.prototype, "nextSibling");
const documentOf = getterOf(Node.prototype, "ownerDocument");
const isConnected = getterOf(Node.prototype, "isConnected");
const plainTextOf = getterOf(Node.prototype, "textContent");
const rootOf = methodOf(Node.prototype, "getRootNode");
const dataOf = getterOf(CharacterData.prototype, "data");

const localNameOf = getterOf(Element.prototype, "localName");
const namespaceOf = getterOf(Element.prototype, "namespaceURI");
const shadowOf = getterOf(Element.prototype, "shadowRoot");
const slotOfElement = getterOf(Element.prototype, "assignedSlot");
const slotOfText = getterOf(Text.prototype, "assignedSlot");
const attributeOf = methodOf(Element.prototype, "getAttribute");
const hasAttribute = methodOf(Element.prototype, "hasAttribute");
const matchesSelector = methodOf(Element.prototype, "matches");
const closestTo = methodOf(Element.prototype, "closest");
const rectOf = methodOf(Element.prototype, "getBoundingClientRect");
const rectsOf = methodOf(Element.prototype, "getClientRects");
const checkVisibilityOf = methodOf(Element.prototype, "checkVisibility");
const scrollElementIntoView = methodOf(Element.prototype, "scrollIntoView");
const clientWidthOf = getterOf(Element.prototype, "clientWidth");
const clientHeightOf = getterOf(Element.prototype, "clientHeight");
const clientLeftOf = getterOf(Element.prototype, "clientLeft");
const clientTopOf = getterOf(Element.prototype, "clientTop");
const scrollWidthOf = getterOf(Element.prototype, "scrollWidth");
const scrollHeightOf = getterOf(Element.prototype, "scrollHeight");
const editabilityOf = getterOf(HTMLElement.prototype, "isContentEditable");
// Elements of other kinds, such as those of a drawing, have no such property.
const isEditable = (el) => isHtml(el) && editabilityOf(el);
const focusElement = methodOf(HTMLElement.prototype, "focus");
const dispatchOn = methodOf(EventTarget.prototype, "dispatchEvent");

const documentElementOf = getterOf(Document.prototype, "documentElement");
const bodyOf = getterOf(Document.prototype, "body");
const windowOf = getterOf(Document.prototype, "defaultView");
const titleOf = getterOf(Document.prototype, "title");
const fontsOf = getterOf(Document.prototype, "fonts");
const readyStateOf = getterOf(Document.prototype, "readyState");
const selectionOf = methodOf(Document.prototype, "getSelection");
const execCommandOf = methodOf(Document.prototype, "execCommand");
const rangeIn = methodOf(Document.prototype, "createRange");
const animationsOfDocument = methodOf(Document.prototype, "getAnimations");

const sheetsOfDocument = getterOf(Document.prototype, "styleSheets");
const sheetsOfShadow = getterOf(ShadowRoot.prototype, "styleSheets");
const adoptedByDocument = getterOf(Document.prototype, "adoptedStyleSheets");
const adoptedByShadow = getterOf(ShadowRoot.prototype, "adoptedStyleSheets");

const NODE_ELEMENT = 1;
const NODE_TEXT = 3;
const NODE_DOCUMENT = 9;
const NODE_FRAGMENT = 11;

const inDocumentOrShadow = (name) => {
  const ofDocument = methodOf(Document.prototype, name);
  const ofShadow = methodOf(ShadowRoot.prototype, name);
  return (root, ...rest) => (typeOfNode(root) === NODE_DOCUMENT ? ofDocument(root, ...rest) : ofShadow(root, ...rest));
};
const selectAllIn = inDocumentOrShadow("querySelectorAll");
const byIdIn = inDocumentOrShadow("getElementById");
const elementAtPoint = inDocumentOrShadow("elementFromPoint");

const activeInDocument = getterOf(Document.prototype, "activeElement");
const activeInShadow = getterOf(ShadowRoot.prototype, "activeElement");
const hostOf = getterOf(ShadowRoot.prototype, "host");

const theDocument = document;
const theWindow = window;
const now = () => performance.now();
