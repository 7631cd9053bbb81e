drop table if exists db.t purge;
CREATE DATABASE IF NOT EXISTS d COMMENT 'x';
OPTIMIZE TABLE t;
alter  table t  add columns (a int);
SET x = 'a;b'
