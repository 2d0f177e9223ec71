import { packNames, type NameList } from './name-list.ts';

/** What one matcher says about domains: a name is in the list when any entry matches it. */
export interface DomainList {
  /** Names that stand for themselves and their subdomains. */
  readonly suffix: NameList;
  readonly full: NameList;
  /** Lower case. */
  readonly keyword: readonly string[];
  /** In the Rust dialect, matched against the lower-cased name. */
  readonly regex: readonly string[];
}

const NO_NAMES: NameList = packNames([]);

/** A list with entries of some kinds. */
export const domainList = (entries: Partial<DomainList>): DomainList => ({
  suffix: NO_NAMES,
  full: NO_NAMES,
  keyword: [],
  regex: [],
  ...entries,
});

/** Whether no name can be in the list. */
export const isEmptyDomainList = ({ suffix, full, keyword, regex }: DomainList): boolean =>
  suffix.ends.length + full.ends.length + keyword.length + regex.length === 0;
