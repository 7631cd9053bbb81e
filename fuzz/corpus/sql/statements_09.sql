DELETE FROM t USING u, v WHERE a;
MERGE INTO t AS x USING (SELECT 1) AS s ON x.a = s.a WHEN MATCHED AND b THEN UPDATE SET c = 1, x.d = 2 WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY TARGET THEN INSERT (a, b) VALUES (1, DEFAULT) ;
MERGE INTO t USING s ON a WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *;
CREATE TABLE IF NOT EXISTS db.t (a INT PRIMARY KEY NOT NULL COMMENT 'x', b STRUCT<c: INT COMMENT 'it\'s'>);
create external table t (id int, s string default 'x') partitioned by (y int, m int comment 'c') row format delimited fields terminated by ',' stored as parquet location '/x' tblproperties ('a'='b', 'c'='d');
CREATE TABLE t PRIMARY KEY (id) PARTITION BY HASH ( id ) PARTITIONS 3 STORED AS KUDU AS SELECT 1 AS id;
create table t (id bigint encoding rle block_size 4, non unique primary key (id)) stored as kudu;
CREATE TABLE t PARTITIONED BY SPEC (truncate(1, a), b, bucket(7, c)) STORED BY ICEBERG AS SELECT 1;
CREATE TABLE t (a INT, ts TIMESTAMP) PARTITIONED BY (a, days(ts)) USING iceberg;
CREATE TABLE t PARTITIONED BY (a, b) SORT BY ZORDER (c, d) AS SELECT 1
