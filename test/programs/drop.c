// drop.c: a box falls onto a plane and comes to rest.
#include <ode/ode.h>
#include <stdio.h>

static dWorldID world;
static dJointGroupID contacts;

static void near_callback(void *data, dGeomID a, dGeomID b)
{
    (void)data;
    dContact contact[8] = {0};
    int count = dCollide(a, b, 8, &contact[0].geom, sizeof(dContact));
    for (int i = 0; i < count; i++) {
        contact[i].surface.mode = dContactApprox1;
        contact[i].surface.mu = 0.5;
        dJointAttach(dJointCreateContact(world, contacts, &contact[i]), dGeomGetBody(a),
                     dGeomGetBody(b));
    }
}

int main(void)
{
    dInitODE2(0);
    world = dWorldCreate();
    contacts = dJointGroupCreate(0);
    dWorldSetGravity(world, 0, 0, -9.81);
    dSpaceID space = dSimpleSpaceCreate(NULL);
    dCreatePlane(space, 0, 0, 1, 0);
    dBodyID box = dBodyCreate(world);
    dMass mass;
    dMassSetBoxTotal(&mass, 1, 0.2, 0.2, 0.2);
    dBodySetMass(box, &mass);
    dBodySetPosition(box, 0, 0, 0.5);
    dGeomSetBody(dCreateBox(space, 0.2, 0.2, 0.2), box);
    for (int i = 0; i < 300; i++) {
        dSpaceCollide(space, NULL, near_callback);
        dWorldStep(world, 0.01);
        dJointGroupEmpty(contacts);
    }
    printf("the box rests at %.6f m\n", dBodyGetPosition(box)[2]);
    dWorldDestroy(world);
    dCloseODE();
    return 0;
}
