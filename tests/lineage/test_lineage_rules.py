"""The rules of column lineage, one by one: what each construct of SQL gives, derived by hand from the specification.

A case is a statement and its edges in order. `a <- t.x, t.y` says what the value of target a is made of, `a ~ t.z` which
columns its windows hang on, and `* ~ t.z` which columns restrict the whole statement. Columns are those of database
`shop`, whose name is left out on the right. Run by pytest; LAKEBED names the command.
"""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import lineage_driver as driver

CATALOG = """
create table shop.orders (id bigint, customer_id bigint, item_id int, amount decimal(9,2), placed timestamp, note string)
  partitioned by (year int, month int);
create table shop.customers (id bigint, name string, city string, age int, vip boolean);
create table shop.items (id int, title string, price decimal(9,2), tags array<string>, sizes map<string,int>,
  maker struct<name:string,place:struct<city:string,zip:int>>, parts array<struct<no:int,label:string>>);
create table shop.stock (id int primary key, qty int, place string) partition by hash (id) partitions 3 stored as kudu;
create table shop.log (id int, what string, at timestamp) stored by iceberg;
create table shop.wide (%s) stored as kudu;
create view shop.adults as select id, name, city from shop.customers where age > 17;
use shop;
create view big as select o.id, c.name who, o.amount from orders o join adults c on o.customer_id = c.id
  where o.amount > 100;
create view counted (town, n) as select city, count(*) from customers group by city having max(age) > 30;
create view doubled as select id + id, upper(name) from customers;
""" % ", ".join("c%d int" % i for i in range(12))

SELECT = {
    # values
    "a plain column": ("select name from customers", "name <- customers.name"),
    "an alias": ("select name as Who from customers", "who <- customers.name"),
    "an expression": ("select age + id from customers", "age + id <- customers.age, customers.id"),
    "a literal": ("select 1, 'x' s, NULL n from customers", "1 <-\ns <-\nn <-"),
    "without FROM": ("select 1 + 1 x", "x <-"),
    "conditions in the list are values": (
        "select case when vip then name else city end x, if(age > 1, id, 0) y, coalesce(name, city) z, "
        "nullif(id, age) w from customers",
        "x <- customers.vip, customers.name, customers.city\ny <- customers.age, customers.id\n"
        "z <- customers.name, customers.city\nw <- customers.id, customers.age"),
    "a boolean in the list": ("select age > 17 and vip x from customers", "x <- customers.age, customers.vip"),
    "casts": ("select cast(id as string) a, cast(age as string format 'x') b from customers",
              "a <- customers.id\nb <- customers.age"),
    "aggregates without GROUP BY": ("select count(*) n, sum(age) s, count(distinct city) d from customers",
                                    "n <-\ns <- customers.age\nd <- customers.city"),
    "BETWEEN, LIKE, IN, IS": (
        "select age between 1 and id a, name like city b, id in (age, 3) c, vip is null d, name is distinct from city e "
        "from customers",
        "a <- customers.age, customers.id\nb <- customers.name, customers.city\nc <- customers.id, customers.age\n"
        "d <- customers.vip\ne <- customers.name, customers.city"),
    # windows
    "a window": ("select sum(age) over (partition by city order by id) s from customers",
                 "s <- customers.age\ns ~ customers.city, customers.id"),
    "an empty window": ("select sum(age) over () s from customers", "s <- customers.age"),
    "a window over a constant": ("select rank() over (order by 1) r from customers", "r <-\nr ~"),
    "window bounds belong to neither": (
        "select sum(age) over (order by id rows between 2 preceding and 3 following) s from customers",
        "s <- customers.age\ns ~ customers.id"),
    "ntile": ("select ntile(age) over (order by id) s from customers", "s <- customers.age\ns ~ customers.id"),
    "percent_rank and cume_dist": (
        "select percent_rank() over (order by id) p, cume_dist() over (partition by city order by id) c from customers",
        "p <-\np ~ customers.id\nc <-\nc ~ customers.city, customers.id"),
    "lag with columns": ("select lag(name, 2, city) over (order by id) l from customers",
                         "l <- customers.name, customers.city\nl ~ customers.id"),
    "a window within an expression": ("select 1 + max(age) over (partition by city) m from customers",
                                      "m <- customers.age\nm ~ customers.city"),
    "a window from below": (
        "select r + age x from (select age, rank() over (order by id) r from customers) v",
        "x <- customers.age\nx ~ customers.id"),
    "a window of a window": (
        "select max(r) over (partition by s) x from (select rank() over (order by id) r, "
        "sum(age) over (partition by city) s from customers) v",
        "x <-\nx ~ customers.id, customers.age, customers.city"),
    "a filter on a window": (
        "select name from (select name, row_number() over (partition by city order by age) rn from customers) v "
        "where rn = 1",
        "name <- customers.name\n* ~ customers.city, customers.age"),
    # restrictions
    "WHERE": ("select name from customers where age > 1 and (vip or city = 'x')",
              "name <- customers.name\n* ~ customers.age, customers.vip, customers.city"),
    "WHERE without columns": ("select name from customers where 1 = 1", "name <- customers.name"),
    "ON": ("select c.name from customers c join orders o on c.id = o.customer_id",
           "name <- customers.name\n* ~ customers.id, orders.customer_id"),
    "USING": ("select c.name from customers c join items using (id)",
              "name <- customers.name\n* ~ customers.id, items.id"),
    "outer joins": (
        "select c.name, o.note from customers c left outer join orders o on c.id = o.customer_id "
        "right join items i on i.id = o.item_id full outer join stock s on s.id = i.id",
        "name <- customers.name\nnote <- orders.note\n"
        "* ~ customers.id, orders.customer_id, orders.item_id, items.id, stock.id"),
    "a semi join": ("select * from stock s left semi join items i on s.id = i.id",
                    "id <- stock.id\nqty <- stock.qty\nplace <- stock.place\n* ~ stock.id, items.id"),
    "an anti join from the right": ("select * from items i right anti join stock s on s.id = i.id",
                                    "id <- stock.id\nqty <- stock.qty\nplace <- stock.place\n* ~ stock.id, items.id"),
    "a cross join and a comma": ("select c.name from customers c cross join items, stock", "name <- customers.name"),
    "GROUP BY with an aggregate": ("select city, count(*) n from customers group by city",
                                   "city <- customers.city\nn <-\n* ~ customers.city"),
    "GROUP BY without one": ("select city from customers group by city, age", "city <- customers.city"),
    "GROUP BY with one in ORDER BY": ("select city from customers group by city order by max(age)",
                                      "city <- customers.city\n* ~ customers.city"),
    "GROUP BY with one in HAVING": ("select city from customers group by city having max(age) > 3",
                                    "city <- customers.city\n* ~ customers.city, customers.age"),
    "GROUP BY position and alias": ("select city c, age + 1 a, count(*) from customers group by 1, a",
                                    "c <- customers.city\na <- customers.age\ncount(*) <-\n"
                                    "* ~ customers.city, customers.age"),
    "an alias wins over a column": ("select name city, count(*) n from customers group by city",
                                    "city <- customers.name\nn <-\n* ~ customers.name"),
    "ROLLUP": ("select city, age, count(*) n, grouping(city) g from customers group by rollup (city, age)",
               "city <- customers.city\nage <- customers.age\nn <-\ng <-\n* ~ customers.city, customers.age"),
    "grouping sets": ("select city, age, count(*) n from customers group by grouping sets ((city, age), (vip), ())",
                      "city <- customers.city\nage <- customers.age\nn <-\n"
                      "* ~ customers.city, customers.age, customers.vip"),
    "HAVING without aggregates": ("select city from customers group by city having city > 'a'",
                                  "city <- customers.city\n* ~ customers.city"),
    "DISTINCT": ("select distinct city from customers", "city <- customers.city"),
    "ORDER BY alone": ("select name from customers order by age", "name <- customers.name"),
    "ORDER BY with LIMIT": ("select name from customers order by age limit 3", "name <- customers.name\n* ~ customers.age"),
    "ORDER BY with OFFSET only": ("select name from customers order by age offset 3", "name <- customers.name"),
    "ORDER BY position and alias": ("select name n, age + id a from customers order by 1, a limit 3",
                                    "n <- customers.name\na <- customers.age, customers.id\n"
                                    "* ~ customers.name, customers.age, customers.id"),
    "ORDER BY the name of a result column": (
        "select c.id, c.name from customers c join stock s on c.age = s.qty order by id, case when id > 1 then name end "
        "limit 3",
        "id <- customers.id\nname <- customers.name\n* ~ customers.age, stock.qty, customers.id, customers.name"),
    "LIMIT alone": ("select name from customers limit 3", "name <- customers.name"),
    # nesting
    "an inline view": ("select x + 1 y from (select age x from customers where vip) v where x > 2",
                       "y <- customers.age\n* ~ customers.vip, customers.age"),
    "an inline view's unused columns": ("select 1 y from (select max(age) x from customers group by city) v",
                                        "y <-\n* ~ customers.city"),
    "WITH": ("with w as (select city c, count(*) n from customers group by city) select n from w",
             "n <-\n* ~ customers.city"),
    "WITH that nobody uses": ("with w as (select id from items where price > 3) select name from customers",
                              "name <- customers.name"),
    "WITH used twice": ("with w as (select id, name from customers where vip) "
                        "select a.name from w a join w b on a.id = b.id",
                        "name <- customers.name\n* ~ customers.vip, customers.id"),
    "WITH with a column list": ("with w (a, b) as (select id, name from customers) select b, a from w",
                                "b <- customers.name\na <- customers.id"),
    "WITH hides a table": ("with customers as (select id name from items) select name from customers",
                           "name <- items.id"),
    "WITH within WITH": ("with a as (with b as (select age x from customers) select x + 1 y from b) select y from a",
                         "y <- customers.age"),
    "a stored view": ("select name, city from adults", "name <- customers.name\ncity <- customers.city\n* ~ customers.age"),
    "a view of a view": ("select who from big",
                         "who <- customers.name\n* ~ orders.customer_id, customers.id, orders.amount, customers.age"),
    "a view with a column list": ("select town, n from counted",
                                  "town <- customers.city\nn <-\n* ~ customers.city, customers.age"),
    "a view's unnamed columns": ("select _c0, _c1 from doubled", "_c0 <- customers.id\n_c1 <- customers.name"),
    # set operations
    "UNION ALL": ("select * from (select name a from customers where vip union all select note from orders) v",
                  "a <- customers.name, orders.note\n* ~ customers.vip"),
    "UNION with constants": ("select * from (select 1 a, name b from customers union select id, 'x' from items) v",
                             "a <- items.id\nb <- customers.name"),
    "EXCEPT": ("select id, name from customers except select id, title from items",
               "id <- customers.id\nname <- customers.name\n"
               "* ~ customers.id, customers.name, items.id, items.title"),
    "INTERSECT, then UNION": (
        "select * from (select id a from customers intersect select id from items union all select qty from stock) v",
        "a <- customers.id, stock.qty\n* ~ customers.id, items.id"),
    "ORDER BY and LIMIT of an operand": (
        "select * from (select name a from customers order by age limit 3 union all select note from orders) v",
        "a <- customers.name, orders.note\n* ~ customers.age"),
    "ORDER BY and LIMIT of a whole UNION": (
        "select * from (select name a from customers union all (select note from orders) order by a limit 3) v",
        "a <- customers.name, orders.note"),
    "VALUES": ("select * from (values (1 as a, 'x' as b), (2, 'y')) v", "a <-\nb <-"),
    # stars
    "a star": ("select * from stock", "id <- stock.id\nqty <- stock.qty\nplace <- stock.place"),
    "a star shows partition columns last": (
        "select o.* from orders o",
        "\n".join("%s <- orders.%s" % (c, c)
                  for c in "id customer_id item_id amount placed note year month".split())),
    "a star leaves complex columns out": ("select * from items",
                                          "id <- items.id\ntitle <- items.title\nprice <- items.price"),
    "a star of two relations": ("select * from stock s, adults a",
                                "id <- stock.id\nqty <- stock.qty\nplace <- stock.place\nid <- customers.id\n"
                                "name <- customers.name\ncity <- customers.city\n* ~ customers.age"),
    "a star with EXCEPT and REPLACE": ("select * except (qty) replace (upper(place) as place) from stock",
                                       "id <- stock.id\nplace <- stock.place"),
    # subqueries
    "IN": ("select name from customers where id in (select customer_id from orders where amount > 3)",
           "name <- customers.name\n* ~ customers.id, orders.customer_id, orders.amount"),
    "NOT IN a constant": ("select name from customers where 3 not in (select item_id from orders)",
                          "name <- customers.name\n* ~ orders.item_id"),
    "EXISTS": ("select name from customers c where exists (select note from orders o where o.customer_id = c.id)",
               "name <- customers.name\n* ~ customers.id, orders.customer_id"),
    "NOT EXISTS": ("select name from customers c where not exists (select 1 from orders o where o.customer_id = c.id "
                   "and o.year = 3)",
                   "name <- customers.name\n* ~ customers.id, orders.customer_id, orders.year"),
    "EXISTS over an aggregate says nothing": (
        "select name from customers c where exists (select count(*) from orders o where o.customer_id = c.id)",
        "name <- customers.name"),
    "EXISTS over an aggregate with HAVING": (
        "select name from customers c where exists (select count(*) from orders o where o.customer_id = c.id "
        "having count(*) > 1)",
        "name <- customers.name\n* ~ customers.id, orders.customer_id"),
    "EXISTS over nothing": ("select name from customers c where vip and not exists (select 1 from orders o "
                            "where o.customer_id = c.id limit 0)",
                            "name <- customers.name\n* ~ customers.vip"),
    "uncorrelated EXISTS orders": ("select name from customers where exists (select id from orders order by amount)",
                                   "name <- customers.name\n* ~ orders.amount"),
    "correlated EXISTS drops its LIMIT": (
        "select name from customers c where exists (select 1 from orders o where o.customer_id = c.id "
        "order by amount limit 2)",
        "name <- customers.name\n* ~ customers.id, orders.customer_id"),
    "a scalar subquery": ("select name from customers where age > (select avg(age) from customers where vip)",
                          "name <- customers.name\n* ~ customers.age, customers.vip"),
    "a scalar subquery of several rows orders": (
        "select name from customers where age > (select qty from stock order by place)",
        "name <- customers.name\n* ~ customers.age, stock.qty, stock.place"),
    "a subquery under OR": ("select name from customers where vip or id in (select customer_id from orders)",
                            "name <- customers.name\n* ~ customers.vip, customers.id, orders.customer_id"),
    "a scalar subquery in the list": (
        "select name, (select max(amount) from orders o where o.customer_id = c.id) m from customers c",
        "name <- customers.name\nm <- orders.amount\n* ~ customers.id, orders.customer_id"),
    "a subquery two blocks down": (
        "select name from customers c where exists (select 1 from orders o where o.customer_id = c.id and exists "
        "(select 1 from items i where i.id = o.item_id and i.price > c.age))",
        "name <- customers.name\n* ~ customers.id, customers.age, orders.customer_id, orders.item_id, items.id, items.price"),
    # nested data
    "a field": ("select maker.name, i.maker.place.zip z from items i",
                "maker.name <- items.maker.name\nz <- items.maker.place.zip"),
    "a whole struct": ("select maker from items",
                       "maker <- items.maker, items.maker.name, items.maker.place, items.maker.place.city, "
                       "items.maker.place.zip"),
    "a whole array": ("select tags from items", "tags <- items.tags"),
    "an array in FROM": ("select i.title, t.item, t.pos from items i, i.tags t",
                         "title <- items.title\nitem <- items.tags.item\npos <- items.tags.pos\n* ~ items.tags"),
    "an array of structs": ("select p.no, p.item.label from items i join i.parts p",
                            "no <- items.parts.item.no\nitem.label <- items.parts.item.label\n* ~ items.parts"),
    "a map": ("select m.key, m.value v from items.sizes m", "key <- items.sizes.key\nv <- items.sizes.value"),
    "an array outer joined": ("select i.title, t.item from items i left outer join i.tags t",
                              "title <- items.title\nitem <- items.tags.item"),
    "an array of the nullable side": ("select t.item from customers c left join items i on c.id = i.id, i.tags t",
                                      "item <- items.tags.item\n* ~ customers.id, items.id"),
    "an array from outside": (
        "select i.title, v.n from items i, (select count(item) n from i.tags where item > 'x') v",
        "title <- items.title\nn <- items.tags.item\n* ~ items.tags.item"),
    "UNNEST side by side": ("select tags.item, parts.no from items i, unnest(i.tags, i.parts)",
                            "item <- items.tags.item\nno <- items.parts.item.no"),
    "a star of a collection": ("select p.*, m.* from items.parts p, items.sizes m",
                               "no <- items.parts.item.no\nlabel <- items.parts.item.label\n"
                               "key <- items.sizes.key\nvalue <- items.sizes.value"),
    "a star of a struct": ("select i.maker.* from items i", "name <- items.maker.name"),
    # labels
    "labels keep what was written": (
        "select A.age + 1, -age, age*2, (age), nvl2(age, id, 2), count(*) over(), lead(name) over (order by id), "
        "upper(A.Name), cast(id as string), a.id <> 3 from customers A",
        "a.age + 1 <- customers.age\n-1 * age <- customers.age\nage * 2 <- customers.age\nage <- customers.age\n"
        "if(age is not null, id, 2) <- customers.age, customers.id\ncount(*) OVER(...) <-\n"
        "lead(name, 1, NULL) OVER(...) <- customers.name\nlead(name, 1, NULL) OVER(...) ~ customers.id\n"
        "upper(a.name) <- customers.name\ncast(id as string) <- customers.id\na.id != 3 <- customers.id"),
    # what other systems add
    "a lambda": ("select transform(tags, x -> concat(x, title)) t from items", "t <- items.tags, items.title"),
    "a lateral alias": ("select age + 1 older, older * 2 twice from customers",
                        "older <- customers.age\ntwice <- customers.age"),
    "QUALIFY": ("select name from customers qualify row_number() over (partition by city order by age) = 1",
                "name <- customers.name\n* ~ customers.city, customers.age"),
    "a named window": ("select sum(age) over w s from customers window w as (partition by city order by id)",
                       "s <- customers.age\ns ~ customers.city, customers.id"),
    "FILTER": ("select sum(age) filter (where vip) s from customers", "s <- customers.age, customers.vip"),
    "NATURAL JOIN": ("select * from stock natural join log",
                     "id <- stock.id\nqty <- stock.qty\nplace <- stock.place\nwhat <- log.what\nat <- log.at\n"
                     "* ~ stock.id, log.id"),
    "a recursive entry": (
        "with recursive r (a, b) as (select id, qty from stock union all select b, s.id from r join log s on r.a = s.id) "
        "select a, b from r",
        "a <- stock.id, stock.qty, log.id\nb <- stock.qty, log.id\n* ~ stock.id, stock.qty, log.id"),
    "LATERAL": ("select c.name, v.m from customers c, lateral (select max(amount) m from orders o "
                "where o.customer_id = c.id) v",
                "name <- customers.name\nm <- orders.amount\n* ~ customers.id, orders.customer_id"),
    "PIVOT": ("select * from (select city, age, vip from customers) c pivot (sum(age) for vip in (true as yes, false))",
              "city <- customers.city\nyes <- customers.age\nfalse <- customers.age\n* ~ customers.vip"),
    "UNPIVOT": ("select * from stock unpivot (n for what in (id, qty))",
                "place <- stock.place\nwhat <-\nn <- stock.id, stock.qty"),
    "a table function": ("select g from generate_series(1, 10) g", "g <-"),
    "UNION BY NAME": ("select * from (select id, name from customers union all by name select title name, id, price from "
                      "items) v",
                      "id <- customers.id, items.id\nname <- customers.name, items.title\nprice <- items.price"),
    "names for the columns of a relation": ("select x.b from stock as x (a, b, c)", "b <- stock.qty"),
    "INSERT … RETURNING in WITH": (
        "with w as (insert into stock (id) values (3) returning id, qty * 2 as q) select q from w", "q <- stock.qty"),
    "LATERAL VIEW": ("select id, tag from items lateral view explode(tags) x as tag",
                     "id <- items.id\ntag <- items.tags.item"),
}

WRITES = {
    "INSERT": ("insert into stock select id, age, city from customers where vip", "INSERT",
               "id <- customers.id\nqty <- customers.age\nplace <- customers.city\n* ~ customers.vip"),
    "INSERT with partitions": (
        "insert into orders (id, note) partition (year = 2009, month) select id, name, age from customers",
        "INSERT", "year <-\nmonth <- customers.age\nid <- customers.id\ncustomer_id <-\nitem_id <-\namount <-\n"
                  "placed <-\nnote <- customers.name"),
    "INSERT OVERWRITE": ("insert overwrite table log select id, title, now() from items", "INSERT_OVERWRITE",
                         "id <- items.id\nwhat <- items.title\nat <-"),
    "kudu takes what is filled, in its own order": (
        "insert into stock (place, id) select city, id from customers", "INSERT",
        "id <- customers.id\nplace <- customers.city"),
    "UPSERT": ("upsert into stock (qty, id) values (1, 2), (3, 4)", "UPSERT", "id <-\nqty <-"),
    "INSERT VALUES": ("insert into log values (1, 'x', now()), (2, 'y', now())", "INSERT", "id <-\nwhat <-\nat <-"),
    "WITH before INSERT": ("with w as (select id, name from customers) insert into log (id, what) select * from w",
                           "INSERT", "id <- customers.id\nwhat <- customers.name\nat <-"),
    "INSERT from itself": ("insert into log select * from log", "INSERT",
                           "id <- log.id\nwhat <- log.what\nat <- log.at"),
    "CREATE TABLE AS": ("create table t1 as select id, id + age, name from customers", "CREATETABLE_AS_SELECT",
                        "id <- customers.id\n_c1 <- customers.id, customers.age\nname <- customers.name"),
    "CREATE TABLE AS, partitioned": (
        "create table t2 partitioned by (city) as select name, city from customers", "CREATETABLE_AS_SELECT",
        "city <- customers.city\nname <- customers.name"),
    "CREATE VIEW": ("create view v1 (a) as select id, count(*) from customers group by id", "CREATEVIEW",
                    "a <- customers.id\n_c1 <-\n* ~ customers.id"),
    "CREATE VIEW keeps subqueries": (
        "create view v2 as select name, (select max(qty) from stock where place > 'x') m from customers "
        "where id in (select customer_id from orders where year = 3)", "CREATEVIEW",
        "name <- customers.name\nm <-\n* ~ customers.id, stock.place, orders.year"),
    "CREATE VIEW takes EXCEPT as UNION": (
        "create view v3 as select id from customers except select id from items", "CREATEVIEW",
        "id <- customers.id, items.id"),
    "ALTER VIEW": ("alter view adults as select id, name from customers", "ALTERVIEW_AS",
                   "id <- customers.id\nname <- customers.name"),
    "CREATE TABLE": ("create table t3 (a int)", "CREATETABLE", ""),
    "UPDATE": ("update stock set qty = qty + 1, place = 'x' where id = 3", "UPDATE",
               "shop.stock.qty <- stock.qty\nshop.stock.place <-\n* ~ stock.qty, stock.place, stock.id"),
    "UPDATE with FROM": ("update s set s.qty = c.age from stock s join customers c on s.id = c.id where c.vip",
                         "UPDATE", "shop.stock.qty <- customers.age\n"
                         "* ~ stock.qty, customers.age, stock.id, customers.id, customers.vip"),
    "UPDATE of more than ten columns is not tested": (
        "update wide set %s where c11 > 1" % ", ".join("c%d = 3" % i for i in range(11)), "UPDATE",
        "\n".join("shop.wide.c%d <-" % i for i in range(11)) + "\n* ~ wide.c11"),
    "UPDATE of several columns at once": (
        "update stock set (qty, place) = (select age, name from customers c where c.id = stock.id)", "UPDATE",
        "shop.stock.qty <- customers.age\nshop.stock.place <- customers.name\n"
        "* ~ customers.id, stock.id, stock.qty, stock.place, customers.age, customers.name"),
    "ON CONFLICT DO UPDATE": (
        "insert into stock (id, qty) select id, age from customers on conflict (id) do update "
        "set qty = stock.qty + excluded.qty where stock.place > 'x'", "INSERT",
        "id <- customers.id\nqty <- customers.age, stock.qty\n* ~ stock.place"),
    "INSERT BY NAME": ("insert into log by name select title what, id from items", "INSERT",
                       "id <- items.id\nwhat <- items.title\nat <-"),
    "SELECT INTO": ("select id, name into t7 from customers where vip", "CREATETABLE_AS_SELECT",
                    "id <- customers.id\nname <- customers.name\n* ~ customers.vip"),
    "UPDATE with a user's function is not tested": (
        "update stock set qty = my.f(id) where place > 'x'", "UPDATE", "shop.stock.qty <- stock.id\n* ~ stock.place"),
    "MERGE": ("merge into log l using stock s on l.id = s.id when matched and s.qty > 3 then update set what = s.place "
              "when not matched then insert (id, what) values (s.id, 'new') when matched and l.at is null then delete",
              "MERGE", "shop.log.id <- stock.id\nshop.log.what <- stock.place\n"
              "* ~ log.id, stock.id, stock.qty, log.at"),
    "MERGE with stars": (
        "merge into log l using (select id, title, now() n from items where price > 3) s on l.id = s.id "
        "when matched then update set * when not matched then insert *", "MERGE",
        "shop.log.id <- items.id\nshop.log.what <- items.title\nshop.log.at <-\n* ~ log.id, items.id, items.price"),
    "a top-level UNION": ("select id from customers union all select id from items", "UNKNOWN",
                          "id <- customers.id, items.id"),
    "a top-level VALUES": ("values (1, 'x')", "UNKNOWN", "1 <-\n'x' <-"),
    "a top-level EXCEPT": ("select id from customers except select id from items", "SELECT",
                           "id <- customers.id\n* ~ customers.id, items.id"),
    "a top-level EXCEPT with LIMIT": (
        "select id a from customers except (select id from items) order by a limit 3", "SELECT",
        "a <- customers.id\n* ~ customers.id, items.id"),
}

SILENT = ["explain select name from customers", "delete from stock where id = 3", "create table t9 like stock",
          "merge into log l using stock s on l.id = s.id when matched then delete", "show tables", "use shop",
          "drop table if exists nothing", "truncate table log", "create database d"]


def edges(text):
    """Edges of the short form, with the database put in."""
    out, targets = [], []
    for line in filter(None, text.split("\n")):
        kind = "PROJECTION" if " <-" in line else "PREDICATE"
        target, sources = line.split(" <-" if kind == "PROJECTION" else " ~")
        sources = ["shop." + s.strip() for s in sources.split(",") if s.strip()]
        if kind == "PROJECTION":
            targets.append(target)
        out.append((kind, sorted(set(targets)) if target == "*" else [target], sorted(set(sources))))
    return out


def check_all(cases, operation=None):
    names = list(cases)
    got = driver.run_all([cases[name][0] for name in names], CATALOG, "shop")
    wrong = []
    for name, record in zip(names, got):
        want = edges(cases[name][-1])
        if driver.shape(record) != want:
            wrong.append("%s: %s\n   got  %s\n   want %s" % (name, cases[name][0], driver.shape(record), want))
        elif record["operationType"] != (operation or cases[name][1]):
            wrong.append("%s: %s" % (name, record["operationType"]))
    assert not wrong, "\n" + "\n".join(wrong)


def test_queries():
    plain = {name: case for name, case in SELECT.items() if not name.startswith("UNION at")}
    check_all(plain, "SELECT")


@pytest.mark.parametrize("name", WRITES)
def test_statements(name):
    """Each in a script of its own, for they change what later ones see."""
    check_all({name: WRITES[name]})


def test_statements_that_leave_no_record():
    assert driver.run_all(SILENT, CATALOG, "shop") == [None] * len(SILENT)


def test_complex_columns_in_a_star():
    got = driver.run_all(["select * from items"], CATALOG, "shop", ["--expand-complex-types"])[0]
    assert [v["vertexId"] for v in got["vertices"] if "metadata" not in v] == [
        "id", "title", "price", "tags", "sizes", "maker", "parts"]


FOLDED = {
    "x OR TRUE": ("select name from customers where vip or true", "name <- customers.name"),
    "FALSE AND x": ("select name from customers where false and vip", "name <- customers.name"),
    "IF": ("select if(true, name, city) a, if(false, name, city) b from customers",
           "a <- customers.name\nb <- customers.city"),
    "CASE": ("select case when false then name when vip then city when true then 'x' else note end a "
             "from customers, orders", "a <- customers.vip, customers.city"),
    "x IS DISTINCT FROM x": ("select name from customers where vip and age is distinct from age",
                             "name <- customers.name"),
    "numbers": ("select if(1 > 2, name, city) a from customers where 1 <= 1 or vip", "a <- customers.city"),
}


def test_constants_are_folded_on_demand():
    names = list(FOLDED)
    got = driver.run_all([FOLDED[name][0] for name in names], CATALOG, "shop", ["--expr-rewrites"])
    for name, record in zip(names, got):
        assert driver.shape(record) == edges(FOLDED[name][1]), name


def test_metadata():
    got = driver.run_all(["insert into log (id) select id from big", "create table t1 stored as kudu as select id from log",
                          "update stock set qty = 1"], CATALOG, "shop")
    facts = [{v["vertexId"]: (v["metadata"]["tableName"], v["metadata"]["tableType"]) for v in r["vertices"]}
             for r in got]
    assert facts[0]["id"] == ("shop.log", "iceberg") and facts[0]["shop.orders.id"] == ("shop.orders", "hive")
    assert facts[1] == {"id": ("shop.t1", "kudu"), "shop.log.id": ("shop.log", "iceberg")}
    assert facts[2] == {"shop.stock.qty": ("shop.stock", "kudu")}


def test_locations():
    got = driver.run_all(["create external table a (x int)", "create external table default.b (x int)",
                          "create external table c (x int) location '/data/c///'", "create table d (x int)",
                          "create external table shop.e as select id from log"], CATALOG, "shop",
                         ["--warehouse", "hdfs://n/w/"])
    assert [r.get("tableLocation") for r in got] == ["hdfs://n/w/shop.db/a", "hdfs://n/w/b", "/data/c", None,
                                                     "hdfs://n/w/shop.db/e"]


def test_a_script_knows_what_it_made():
    got = driver.run_all([
        "create table shop.first as select id, maker m from items", "select * from first", "select m.name from first",
        "create view second as select m.place.zip z, id from first where id > 3", "select z from second",
        "drop view second", "use other", "create table third (a int, b int)", "select b from third",
        "insert into third select id, 1 from shop.first"], CATALOG, "shop")
    assert driver.shape(got[1]) == [("PROJECTION", ["id"], ["shop.first.id"])]
    assert driver.shape(got[2]) == [("PROJECTION", ["m.name"], ["shop.first.m.name"])]
    assert driver.shape(got[4]) == [("PROJECTION", ["z"], ["shop.first.m.place.zip"]),
                                    ("PREDICATE", ["z"], ["shop.first.id"])]
    assert driver.shape(got[8]) == [("PROJECTION", ["b"], ["other.third.b"])]
    assert driver.shape(got[9]) == [("PROJECTION", ["a"], ["shop.first.id"]), ("PROJECTION", ["b"], [])]


# ---- without a catalog: what can be said is said, and what is not sure is marked

GUESSED = {
    "one table": ("select a, b + 1 x from t where c > 1", "a <- default.t.a\nx <- default.t.b\n* ~ default.t.c", 1),
    "qualified names": ("select x.a, y.b from db.t1 x join db.t2 y on x.id = y.id",
                        "a <- db.t1.a\nb <- db.t2.b\n* ~ db.t1.id, db.t2.id", 2),
    "a name that may be of two tables": ("select a from t1 join t2 on t1.id = t2.id",
                                         "a <- default.t1.a, default.t2.a\n* ~ default.t1.id, default.t2.id", 3),
    "a star": ("select * from t", "* <- default.t.*", 1),
    "a star of a table that an alias hides": ("select t.* from t a join u b on a.id = b.id",
                                              "* <- default.t.*\n* ~ default.t.id, default.u.id", 3),
    "a column of a table that an alias hides": ("select k.v from (select 1 a) x, k y", "v <- default.k.v", 2),
    "a star of nothing": ("select x.* from (select 1 a) v", "* <- x.*", 1),
    "a value without parentheses": ("select current_timestamp, CURRENT_DATE d from t", "current_timestamp <-\nd <-", 1),
    "a column that an alias repeats": ("select id + 1 id, id was from t", "id <- default.t.id\nwas <- default.t.id", 1),
    "an alias of an earlier item": ("select a + 1 x, x + 1 y from t", "x <- default.t.a\ny <- default.t.a", 1),
    "a column through stars": ("select a from (select * from (select * from t) v) w", "a <- default.t.a", 1),
    "a column through a UNION of stars": (
        "select a from (select * from t union all select * from u) v", "a <- default.t.a, default.u.a", 2),
    "a name that nothing has": ("select zzz from (select 1 a) v", "zzz <- zzz", 1),
    "INSERT into a table nobody knows": ("insert into t (a, b) select x, y from s", "a <- default.s.x\nb <- default.s.y", 2),
    "INSERT of a star": ("insert into t (a, b, c) select x, s.* from s",
                         "a <- default.s.x\nb <- default.s.*\nc <- default.s.*", 2),
    "a catalog's name of three parts": ("select a from c.d.t", "a <- c.d.t.a", 1),
    "UPDATE": ("update t set a = b where c = 1",
               "default.t.a <- default.t.b\n* ~ default.t.a, default.t.b, default.t.c", 1),
    "MERGE": ("merge into t using s on t.id = s.id when matched then update set a = s.b "
              "when not matched then insert (id, a) values (s.id, s.c)",
              "default.t.a <- default.s.b, default.s.c\ndefault.t.id <- default.s.id\n* ~ default.t.id, default.s.id", 2),
}


def test_without_a_catalog():
    for name, (sql, want, marks) in GUESSED.items():
        records, said = driver.run(sql)
        wanted = [(kind, targets, sorted(s[5:] for s in sources)) for kind, targets, sources in edges(want)]
        assert driver.shape(records[0]) == wanted, name
        told = sum(said.count(words) for words in ("is in no catalog", "is of no table", "may be of several"))
        assert told == marks, (name, said)


def test_a_column_that_the_catalog_does_not_have():
    """It is taken for one of the table named before it, or of the only table there, and marked."""
    records, said = driver.run("select nope, stock.never from stock; select c.nope, other from customers c, items i",
                               CATALOG, "shop")
    assert driver.shape(records[0]) == edges("nope <- stock.nope\nnever <- stock.never")
    assert driver.shape(records[1]) == [("PROJECTION", ["nope"], ["shop.customers.nope"]),
                                        ("PROJECTION", ["other"], ["other"])]
    assert said.count("is of no table") == 4


def test_strict_refuses_what_is_not_sure():
    for sql, _, _ in GUESSED.values():
        records, _ = driver.run(sql, options=["--strict"], status=1)
        assert records == {}
