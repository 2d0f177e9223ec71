/** Fields of messages, of every version. */
export { isOwnSite } from './fields/field.ts';
export { type HttpField, valueOf } from './fields/field.ts';
export { hasControl } from './fields/field.ts';
export {
  FIELD_LINE_LIMIT,
  HEAD_LIMIT,
  HEADER_LIST_LIMIT,
  INTERIM_LIMIT,
  RESPONSE_HEAD_LIMIT,
} from './limits.ts';
