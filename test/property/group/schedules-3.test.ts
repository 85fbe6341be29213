import { describeShard } from './shard';

describeShard(3, ['strict', 'failsafe']);
