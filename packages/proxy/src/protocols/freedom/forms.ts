import { defineForms } from '../forms/contract.ts';
import type { Draft } from '../forms/draft.ts';

const draft = (name: string): Draft => ({ name, protocol: 'freedom', settings: {} });

export const freedomForms = defineForms({
  singBox: { type: 'direct', read: (_fields, name) => draft(name) },
  clash: { type: 'direct', read: (_fields, name) => draft(name) },
  xray: { protocol: 'freedom', read: (_settings, name) => draft(name) },
  clashApi: { outbound: 'Direct' },
});
