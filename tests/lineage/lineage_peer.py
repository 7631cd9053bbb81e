"""Lineage records made by others than Lakebed: JSON lines by Python's json, structs by Apache Thrift's own library.

The Thrift classes are written from the table of fields in Impala's LineageGraph.thrift; each is what the Thrift compiler
makes of it, without what tests do not need.
"""
import json
import re

RECORDS = [
    {"queryText": "create view lineage_test_db.lineage_test_view1 as select id from functional.alltypestiny",
     "operationType": "CREATEVIEW", "queryId": "0123456789abcdef:0000000000000001",
     "hash": "bc19b44ea5cab4531beb8a1dc0779df6", "user": "alice", "timestamp": 1700000000, "endTime": 1700000001,
     "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
     "vertices": [
         {"id": 0, "vertexType": "COLUMN", "vertexId": "id", "metadata": {
             "tableName": "lineage_test_db.lineage_test_view1", "tableType": "view", "tableCreateTime": 1700000001}},
         {"id": 1, "vertexType": "COLUMN", "vertexId": "functional.alltypestiny.id", "metadata": {
             "tableName": "functional.alltypestiny", "tableType": "hive", "tableCreateTime": 1690000000}}]},
    {"queryText": "select 'a\"b\\c/\b\f\n\r\t\x01\x1f\x7f\u00e9\u2028\U0001f600', count(*) from t where x > 1",
     "operationType": "SELECT", "queryId": "ffffffffffffffff:8000000000000000", "hash": "0" * 32, "user": "o'\"brien\\",
     "timestamp": 0, "endTime": 0,
     "edges": [{"sources": [], "targets": [0], "edgeType": "PROJECTION"},
               {"sources": [], "targets": [1], "edgeType": "PROJECTION"},
               {"sources": [2], "targets": [0, 1], "edgeType": "PREDICATE"}],
     "vertices": [{"id": 0, "vertexType": "COLUMN", "vertexId": "'a\"b'"},
                  {"id": 1, "vertexType": "COLUMN", "vertexId": "count(*)"},
                  {"id": 2, "vertexType": "COLUMN", "vertexId": "default.t.x", "metadata": {
                      "tableName": "default.t", "tableType": "kudu", "tableCreateTime": -1}}]},
    {"queryText": "create external table db.t (id int)", "operationType": "CREATETABLE",
     "queryId": "0000000000000000:0000000000000000", "hash": "8" * 32, "user": "", "timestamp": 1700000000,
     "endTime": 1700000000, "edges": [], "vertices": [], "tableLocation": "hdfs://host:20500/test-warehouse/db.db/t"},
    {"queryText": "insert into w select * from wide", "operationType": "INSERT",
     "queryId": "0000000000000001:0000000000000002", "hash": "1" * 32, "user": "u", "timestamp": 1, "endTime": 2,
     "edges": [{"sources": list(range(20, 40)), "targets": [i], "edgeType": "PROJECTION"} for i in range(20)],
     "vertices": [{"id": i, "vertexType": "COLUMN", "vertexId": "%sc%d" % ("db.wide." if i >= 20 else "", i),
                   "metadata": {"tableName": "db.wide" if i >= 20 else "db.w", "tableType": "iceberg",
                                "tableCreateTime": i}} for i in range(40)]},
]


def line(record):
    """The record as Impala writes it."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return re.sub(r"\\u00([0-9a-f]{2})", lambda m: "\\u00" + m[1].upper(), text) + "\n"


# ---------------------------------------------------------------- Thrift

def classes():
    from thrift.Thrift import TType

    def struct(name, *fields):
        spec = [None] * (max(f[0] for f in fields) + 1)
        for field in fields:
            spec[field[0]] = field
        spec = tuple(spec)

        def init(self, **values):
            for field in fields:
                setattr(self, field[2], values.get(field[2]))
        return type(name, (), {"thrift_spec": spec, "__init__": init,
                               "read": lambda self, p: p.readStruct(self, spec),
                               "write": lambda self, p: p.writeStruct(self, spec)})

    def text(number, name):
        return number, TType.STRING, name, "UTF8", None

    def i64(number, name):
        return number, TType.I64, name, None, None

    def one(number, name, cls):
        return number, TType.STRUCT, name, [cls, cls.thrift_spec], None

    def many(number, name, cls):
        return number, TType.LIST, name, (TType.STRUCT, [cls, cls.thrift_spec], False), None

    metadata = struct("TVertexMetadata", text(1, "table_name"), text(2, "table_type"), i64(3, "table_create_time"))
    vertex = struct("TVertex", i64(1, "id"), text(2, "label"), one(3, "metadata", metadata))
    edge = struct("TMultiEdge", many(1, "sources", vertex), many(2, "targets", vertex),
                  (3, TType.I32, "edgetype", None, None))
    unique_id = struct("TUniqueId", i64(1, "hi"), i64(2, "lo"))
    graph = struct("TLineageGraph", text(1, "query_text"), text(2, "hash"), text(3, "user"), i64(4, "started"),
                   i64(5, "ended"), many(6, "edges", edge), many(7, "vertices", vertex), one(8, "query_id", unique_id),
                   text(9, "table_location"), text(10, "operation_type"))
    return metadata, vertex, edge, unique_id, graph


def signed(text):
    n = int(text, 16)
    return n - (1 << 64) if n >> 63 else n


def to_thrift(record):
    metadata, vertex, edge, unique_id, graph = classes()

    def vertex_of(v):
        m = v.get("metadata")
        return vertex(id=v["id"], label=v["vertexId"], metadata=m and metadata(
            table_name=m["tableName"], table_type=m["tableType"], table_create_time=m["tableCreateTime"]))
    by_id = {v["id"]: vertex_of(v) for v in record["vertices"]}
    hi, lo = record["queryId"].split(":")
    return graph(query_text=record["queryText"], hash=record["hash"], user=record["user"], started=record["timestamp"],
                 ended=record.get("endTime"),
                 edges=[edge(sources=[by_id[i] for i in e["sources"]], targets=[by_id[i] for i in e["targets"]],
                             edgetype=["PROJECTION", "PREDICATE"].index(e["edgeType"])) for e in record["edges"]],
                 vertices=list(by_id.values()), query_id=unique_id(hi=signed(hi), lo=signed(lo)),
                 table_location=record.get("tableLocation"), operation_type=record.get("operationType"))


def from_thrift(graph):
    def vertex_of(v):
        out = {"id": v.id, "vertexType": "COLUMN", "vertexId": v.label}
        if v.metadata is not None:
            out["metadata"] = {"tableName": v.metadata.table_name, "tableType": v.metadata.table_type,
                               "tableCreateTime": v.metadata.table_create_time}
        return out
    out = {"queryText": graph.query_text, "operationType": graph.operation_type,
           "queryId": "%016x:%016x" % (graph.query_id.hi % (1 << 64), graph.query_id.lo % (1 << 64)),
           "hash": graph.hash, "user": graph.user, "timestamp": graph.started, "endTime": graph.ended,
           "edges": [{"sources": [v.id for v in e.sources], "targets": [v.id for v in e.targets],
                      "edgeType": ["PROJECTION", "PREDICATE"][e.edgetype]} for e in graph.edges],
           "vertices": [vertex_of(v) for v in graph.vertices]}
    if graph.table_location is not None:
        out["tableLocation"] = graph.table_location
    return out


def protocol(name, transport):
    from thrift.protocol import TBinaryProtocol, TCompactProtocol
    return TBinaryProtocol.TBinaryProtocol(transport) if name == "thrift" else \
        TCompactProtocol.TCompactProtocol(transport)


def thrift_bytes(name, records):
    from thrift.transport import TTransport
    out = TTransport.TMemoryBuffer()
    for record in records:
        to_thrift(record).write(protocol(name, out))
    return out.getvalue()


def thrift_records(name, data, count):
    from thrift.transport import TTransport
    transport = TTransport.TMemoryBuffer(data)
    out = []
    for _ in range(count):
        graph = classes()[-1]()
        graph.read(protocol(name, transport))
        out.append(from_thrift(graph))
    assert transport.read(1) == b"", "something follows the records"
    return out
