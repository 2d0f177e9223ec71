/** Heads and bodies of HTTP/1. */
export {
  type BodyDecoder,
  type BodyEncoder,
  chunkedEncoder,
  createDecoder,
  plainEncoder,
} from './http1/body.ts';
export {
  combinedOf,
  field,
  type FieldLine,
  type FieldLines,
  listOf,
  valuesOf,
} from './http1/message.ts';
export { type Framing, requestFraming, responseFraming } from './http1/head.ts';
export { HeadMemory } from './http1/read-head.ts';
export {
  headBytes,
  parseRequestHead,
  parseResponseHead,
  parseStrictResponseHead,
  type RequestHead,
  type ResponseHead,
  type Version,
} from './http1/head.ts';
export { MessageError } from './http1/message.ts';
export {
  type HeadBytes,
  HeadScanner,
  readHead,
  startsRequest,
  startsResponse,
} from './http1/read-head.ts';
