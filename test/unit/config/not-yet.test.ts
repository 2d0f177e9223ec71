import { describe } from 'node:test';
import { inbound, refuses, type Row } from './support.ts';

const LATER: readonly Row[] = ['tun'].map((name): Row => [
  `the inbound ${name}`,
  inbound(`protocol = "${name}"`),
  `protocol ${name} is not in this version yet`,
  '6:12 (inbound in)',
]);

describe('refused until it is there:', () => refuses(LATER));
