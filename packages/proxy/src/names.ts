/** Lists and expressions of host names. */
export { isEmptyDomainList, normalizeName } from './engine/router/tables/domain-list.ts';
export { RegexCache, RegexError } from './engine/router/tables/regex-set.ts';
