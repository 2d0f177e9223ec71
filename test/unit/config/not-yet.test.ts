import { describe } from 'node:test';
import { outbound, refuses, type Row } from './support.ts';

const LATER: readonly Row[] = [
  [
    'the outbound wireguard',
    outbound('protocol = "wireguard"'),
    'protocol wireguard is not in this version yet',
    '3:12 (outbound out)',
  ],
];

describe('refused until it is there:', () => refuses(LATER));
