import { defineForms } from '../forms/contract.ts';
import type { Draft } from '../forms/draft.ts';

const draft = (name: string): Draft => ({ name, protocol: 'blackhole', settings: {} });

export const blackholeForms = defineForms({
  singBox: { type: 'block', read: (_fields, name) => draft(name) },
  clash: { type: 'reject', read: (_fields, name) => draft(name) },
  xray: { protocol: 'blackhole', read: (_settings, name) => draft(name) },
  clashApi: { outbound: 'Reject' },
});
