import { matrix } from '../../support/matrix/matrix.ts';
import { ROWS } from '../../support/matrix/rows.ts';

matrix(ROWS.hysteria2);
