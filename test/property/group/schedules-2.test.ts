import { describeShard } from './shard';

describeShard(2, ['strict', 'failsafe']);
