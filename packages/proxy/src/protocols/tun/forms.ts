import { defineForms } from '../forms/contract.ts';

export const tunForms = defineForms({ clashApi: { inbound: 'Tun' } });
