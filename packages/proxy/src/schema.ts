/** Decoders of tables, with the place of every value. */
export {
  anything,
  array,
  bool,
  converted,
  type Decoder,
  disclosed,
  located,
  type Located,
  narrowed,
  record,
  secret,
  spanned,
  str,
  table,
  u16,
  u64,
  variant,
} from './schema/decoder.ts';
export { DecodeError, describeNode, expectedOneOf, PlainDecodeError } from './schema/errors.ts';
export { namesHere, NO_REALITY } from './schema/foreign-keys.ts';
export {
  type Check,
  isBoolean,
  isNumber,
  isObject,
  isText,
  listOf,
  optionally,
  orNull,
  recordOf,
  shape,
} from './schema/json-check.ts';
export {
  type ArrayNode,
  emptyTable,
  type Node,
  type ScalarNode,
  type Span,
  type TableEntry,
  type TableNode,
  textAt,
  valueAt,
} from './schema/node.ts';
export { DISCLOSURE, type Shape, shaped } from './schema/shape.ts';
export {
  type Decoded,
  type DecodedKeys,
  fallback,
  type KeyDecoder,
  optional,
  struct,
} from './schema/struct.ts';
export { meantHint, suggestion } from './schema/suggestion.ts';
