use d; create table t (a int, b struct<x:int,`y z`:array<string>>) partitioned by (p int) stored as parquet location '/x';
create external table u like t; create view v (x, y) as select a, b.x from t; alter view v as select a from u; drop table u;
create table w as select * from t;